// SPDX-License-Identifier: MIT
// From the start of a host to the end of its first launch, forward, on the cpu: with nothing kept, and from the cache,
// each in a fresh process; then what finding a plan costs. Prints medians.
#include "tegula/tegula.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

using namespace tegula::host;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int64_t kLength = 64, kDim = 64;

double millisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

tegula_attention_problem problem() {
  auto problem = make<tegula_attention_problem>();
  problem.dtype = TEGULA_F32;
  problem.head_dim = kDim;
  return problem;
}

Status launch(const Context &context) {
  static std::vector<float> q(kLength * kDim), k(q.size()), v(q.size()), o(q.size()), lse(kLength);
  auto view = [](std::vector<float> &x) { return tensor(x.data(), TEGULA_F32, {1, 1, kLength, kDim}); };
  auto args = make<tegula_forward_args>();
  args.scale = 0.125f;
  args.q = view(q);
  args.k = view(k);
  args.v = view(v);
  args.o = view(o);
  args.lse = tensor(lse.data(), TEGULA_F32, {1, 1, kLength});
  return context.forward(problem(), args);
}

/// Runs in a fresh process: prints the time of its first launch to standard output.
int firstLaunch(const char *cache) {
  const auto begin = Clock::now();
  auto options = make<tegula_context_options>();
  options.cache_directory = cache;
  Expected<Context> context = Context::create(options);
  if (!context || !launch(*context).ok())
    return EXIT_FAILURE;
  std::printf("%f\n", millisecondsSince(begin));
  return EXIT_SUCCESS;
}

double inFreshProcess(const std::string &program, const std::string &cache) {
  double milliseconds = -1;
  if (FILE *output = popen((program + " '" + cache + "'").c_str(), "r")) {
    if (std::fscanf(output, "%lf", &milliseconds) != 1)
      milliseconds = -1;
    pclose(output);
  }
  return milliseconds;
}

double lookUpNanoseconds(const std::string &cache) {
  auto options = make<tegula_context_options>();
  options.cache_directory = cache.c_str();
  Expected<Context> context = Context::create(options);
  const tegula_attention_problem wanted = problem();
  constexpr int count = 100'000;
  const auto begin = Clock::now();
  for (int i = 0; i < count; ++i)
    if (!context->plan(wanted))
      return -1;
  return millisecondsSince(begin) * 1e6 / count;
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 2)
    return firstLaunch(argv[1]);
  std::string folder = std::filesystem::temp_directory_path() / "tegula-bench-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr)
    return EXIT_FAILURE;
  std::vector<double> cold, kept;
  for (int i = 0; i < 9; ++i) {
    std::filesystem::remove_all(folder + "/kernels");
    cold.push_back(inFreshProcess("/proc/" + std::to_string(getpid()) + "/exe", folder + "/kernels"));
    kept.push_back(inFreshProcess("/proc/" + std::to_string(getpid()) + "/exe", folder + "/kernels"));
  }
  std::printf("first launch, nothing kept   %8.1f ms\nfirst launch, from the cache %8.2f ms\nfinding a plan            "
              "   %8.0f ns\n",
              median(cold), median(kept), lookUpNanoseconds(folder + "/kernels"));
  std::filesystem::remove_all(folder);
}
