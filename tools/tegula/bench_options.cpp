// SPDX-License-Identifier: MIT
#include "bench_options.h"
#include "legal_values.h"
#include "tegula/attention_words.h"
#include "workload/named_variants.h"

#include <algorithm>

namespace tegula::tools {
namespace {

constexpr const char *kExamples = R"(On a GPU the grid is that of the FlashAttention-2 paper; on a cpu it is small.
Lists are written with commas. Examples:
  tegula bench --json bench.json --html bench.html
  tegula bench --head-dim 128 --seqlen 4096,16384 --causal none --passes forward
  tegula bench --variants softcap,alibi,bias --head-dim 128 --seqlen 16384
  tegula bench --algorithms standard,flash1,flash2 --passes forward
  tegula bench copy.mlir --arg x=f32[65536] --arg y=f32[65536] --grid 'ceildiv(x.0,256)'
  tegula bench --decode --dtype bf16 --json decode.json
  tools/bench-peers --json peers.json && tegula bench --add peers.json

Operations are counted as in the papers: 4 N N D a head, halved if causal, 2.5 times as many backward.
Exit code: 0 if all went well, 1 if a check or a problem failed, 2 for bad input, 3 if a file could not be written.)";

constexpr int64_t kMax = int64_t(1) << 24;

void addWords(CLI::App &command, const char *name, std::vector<std::string> &values, std::vector<std::string> legal,
              const std::string &help) {
  command.add_option(name, values, help)
      ->delimiter(',')
      ->check(oneOf(std::move(legal)))
      ->type_name("WORDS")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void addGrid(CLI::App &command, BenchOptions &o) {
  addNumbers(command, "--head-dim", o.head_dims, 8, 256, "Head dimensions (64,128,256; cpu: 64)");
  addNumbers(command, "--seqlen", o.seqlens, 1, kMax, "Sequence lengths (512 to 16384; cpu: 256,512)");
  addWords(command, "--causal", o.causals, causalWords(), "Masks (none,bottom_right)");
  addWords(command, "--passes", o.passes, {"forward", "backward"}, "Passes (forward,backward)");
  addWords(command, "--algorithms", o.algorithms, algorithmWords(),
           "Of standard, flash1 and flash2; only flash2 has a\nbackward pass (flash2)");
  addWords(
      command, "--variants", o.variants, variantNames(),
      "Instead of plain attention: what variants cost, forward, beside\nplain attention over as many blocks: of\n" +
          enumeration(variantNames()));
  addWord(command, "--dtype", {"f32", "f16", "bf16"}, o.dtype, parseDType,
          "Element type: f32, f16 or bf16 (bf16; cpu: f32)");
  addNumber(command, "--tokens", o.tokens, 1, kMax, "Tokens of a batch (16384; cpu: 512)");
  addNumber(command, "--hidden", o.hidden, 8, kMax, "Numbers of a token: heads times --head-dim (2048; cpu: 256)");
}

void addServing(CLI::App &command, BenchOptions &o) {
  command.add_flag(
      "--decode", o.decode,
      "Instead of plain attention: decoding, beside a copy in memory, and in\nlatent lines with one head of "
      "keys whose first columns are values");
  command
      .add_flag("--varlen", o.varlen,
                "Instead of plain attention: sequences of log-normal lengths, beside as\nmany of equal lengths")
      ->excludes("--decode");
}

/// Refuses the options of the grid beside --decode and --varlen, whose problems are given.
void excludeGrid(CLI::App &command) {
  for (const char *own : {"--decode", "--varlen"})
    for (const char *other : {"--head-dim", "--seqlen", "--causal", "--passes", "--algorithms", "--variants",
                              "--tokens", "--hidden", "--schedule", "--ladder", "--add", "--html", "PROGRAM"})
      command.get_option(own)->excludes(command.get_option(other));
}

} // namespace

void addBenchOptions(CLI::App &command, BenchOptions &o) {
  addProgramOptions(command, o.program, /*required=*/false);
  addGrid(command, o);
  addTarget(command, o.target);
  addSchedule(command, o.schedule);
  addUntuned(command, o.untuned);
  addNoCache(command, o.no_cache);
  addSeconds(command, "--seconds", o.seconds, "Time for each measurement (0.3)");
  command
      .add_flag(
          "--ladder", o.ladder,
          "Instead of plain attention: from the textbook formula to the fastest\nschedule, forward, step by step, "
          "as Markdown")
      ->excludes("--variants");
  addServing(command, o);
  command.add_flag("--no-check", o.no_check, "Do not compare with a double-precision reference first");
  command.add_option("--add", o.add, "Show these figures too, such as those of tools/bench-peers; may be repeated")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  addReportFiles(command, o.files, "Draw all figures there, as a page for a browser");
  command.footer(kExamples);
  excludeGrid(command);
}

DType benchDType(const BenchOptions &o, std::string_view target) {
  return o.dtype.value_or(target == "cuda" ? bf16 : f32);
}

bench::ProblemSet problemGrid(const BenchOptions &o, std::string_view target) {
  bool gpu = target == "cuda";
  auto has = [&](const char *pass) { return std::find(o.passes.begin(), o.passes.end(), pass) != o.passes.end(); };
  bench::ProblemSet grid{.dtype = benchDType(o, target),
                         .tokens = o.tokens.value_or(gpu ? 16384 : 512),
                         .hidden = o.hidden.value_or(gpu ? 2048 : 256),
                         .head_dims = o.head_dims,
                         .seqlens = o.seqlens,
                         .forward = has("forward"),
                         .backward = has("backward"),
                         .schedule = o.schedule,
                         .seconds = o.seconds};
  if (grid.head_dims.empty())
    grid.head_dims = gpu ? std::vector<int64_t>{64, 128, 256} : std::vector<int64_t>{64};
  if (grid.seqlens.empty())
    grid.seqlens = gpu ? std::vector<int64_t>{512, 1024, 2048, 4096, 8192, 16384} : std::vector<int64_t>{256, 512};
  for (const std::string &word : o.causals)
    grid.causals.push_back(*parseCausal(word));
  for (const std::string &word : o.algorithms)
    grid.algorithms.push_back(*parseAlgorithm(word));
  return grid;
}

} // namespace tegula::tools
