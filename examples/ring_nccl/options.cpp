// SPDX-License-Identifier: MIT
#include "options.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr const char *kHelp = R"(ring_nccl: ring attention on the GPUs of one host, forward and backward

  --gpus N        ranks, one GPU each (2)
  --tokens T      length of the whole sequence (32768)
  --batch N       sequences (1)
  --heads N       query heads (8)
  --kv-heads N    heads of keys and values, which query heads share (--heads)
  --head-dim N    a multiple of 8 up to 256 (128)
  --causal        a query sees the keys up to its own position
  --target NAME   cuda or cpu; on the cpu, ranks are threads that copy memory (cuda)
  --check         compare rows of o, dq, dk and dv with double precision
  --repeat N      timed repetitions; 0: none (7)
  --json          print a line of JSON for each pass
  --nccl FILE     NCCL's library (libnccl.so.2)
  --timeout N     seconds after which ranks that do not finish a pass are an error (120)
)";

[[noreturn]] void refuse(const std::string &reason) {
  std::fprintf(stderr, "ring_nccl: %s\n", reason.c_str());
  std::exit(2);
}

int64_t numberOf(const std::string &option, const char *text, int64_t least, int64_t most) {
  char *end = nullptr;
  errno = 0;
  const long long number = std::strtoll(text, &end, 10);
  if (end == text || *end != 0 || errno != 0 || number < least || number > most)
    refuse(option + " is '" + text + "'; legal is " + std::to_string(least) + " to " + std::to_string(most));
  return number;
}

void checkTogether(const Options &options) {
  const int64_t pieces = options.causal ? 2 * options.gpus : options.gpus;
  if (options.tokens % pieces != 0)
    refuse("--tokens is " + std::to_string(options.tokens) + "; it must divide by " + std::to_string(pieces) +
           (options.causal ? ", because each rank holds two chunks" : ", because each rank holds a chunk"));
  if (options.heads % options.kv_heads != 0)
    refuse("--heads is " + std::to_string(options.heads) + "; it must divide by --kv-heads, which is " +
           std::to_string(options.kv_heads));
  if (options.head_dim % 8 != 0)
    refuse("--head-dim is " + std::to_string(options.head_dim) + "; legal are multiples of 8");
}

} // namespace

Options parseOptions(int count, char **arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    auto value = [&] {
      if (i + 1 == count)
        refuse(name + " needs a value");
      return arguments[++i];
    };
    auto number = [&](int64_t least, int64_t most) { return numberOf(name, value(), least, most); };
    if (name == "--gpus")
      options.gpus = static_cast<int>(number(1, 64));
    else if (name == "--tokens")
      options.tokens = number(1, int64_t{1} << 29);
    else if (name == "--batch")
      options.batch = number(1, 1 << 15);
    else if (name == "--heads")
      options.heads = number(1, 1 << 15);
    else if (name == "--kv-heads")
      options.kv_heads = number(1, 1 << 15);
    else if (name == "--head-dim")
      options.head_dim = number(8, 256);
    else if (name == "--repeat")
      options.repeat = static_cast<int>(number(0, 10000));
    else if (name == "--timeout")
      options.timeout = static_cast<int>(number(1, 86400));
    else if (name == "--nccl")
      options.nccl = value();
    else if (name == "--causal")
      options.causal = true;
    else if (name == "--check")
      options.check = true;
    else if (name == "--json")
      options.json = true;
    else if (name == "--target") {
      const std::string target = value();
      if (target != "cuda" && target != "cpu")
        refuse("--target is '" + target + "'; legal are cuda and cpu");
      options.on_cpu = target == "cpu";
    } else if (name == "--help") {
      std::fputs(kHelp, stdout);
      std::exit(0);
    } else {
      refuse("there is no option " + name + "; see --help");
    }
  }
  if (options.kv_heads == 0)
    options.kv_heads = options.heads;
  checkTogether(options);
  return options;
}
