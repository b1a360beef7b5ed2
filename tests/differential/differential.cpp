// SPDX-License-Identifier: MIT
// tegula_differential [--target cpu|cuda|simt] [--seed N] [--count N] [--seconds N] [--threads N] [--case "dtype=f32 ..."]
//
// Runs `count` random configurations, the same ones for the same seed and kind of target, or as many as `seconds`
// allow, and compares each with the oracle. Prints each failing one as a line that --case takes, and exits with 1 if
// there was one.
#include "random_case.h"
#include "support/test_device.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

namespace tegula::testing {
namespace {

constexpr int kLaunchesPerPlan = 25;

struct Options {
  uint64_t seed = 1;
  int count = 2000;
  double seconds = 1e9; ///< After these, no further case is started.
  int threads = 2;
  std::string one; ///< A case, instead of random ones.
};

[[noreturn]] void usage(const char *word) {
  std::fprintf(stderr,
               "unknown or incomplete option '%s'\n"
               "usage: tegula_differential [--target cpu|cuda|simt] [--seed N] [--count N] [--seconds N] [--threads N] "
               "[--case \"dtype=f32 ...\"]\n",
               word);
  std::exit(2);
}

Options parseOptions(int argc, char **argv) {
  Options options;
  for (int n = 1; n < argc; n += 2) {
    std::string_view word = argv[n];
    if (n + 1 == argc)
      usage(argv[n]);
    if (word == "--target")
      setenv("TEGULA_TEST_TARGET", argv[n + 1], /*overwrite=*/1);
    else if (word == "--seed")
      options.seed = std::strtoull(argv[n + 1], nullptr, 10);
    else if (word == "--count")
      options.count = std::atoi(argv[n + 1]);
    else if (word == "--seconds")
      options.seconds = std::strtod(argv[n + 1], nullptr);
    else if (word == "--threads")
      options.threads = std::max(1, std::atoi(argv[n + 1]));
    else if (word == "--case")
      options.one = argv[n + 1];
    else
      usage(argv[n]);
  }
  return options;
}

std::vector<Case> casesFor(const Options &options) {
  std::vector<Case> cases;
  Random random(options.seed);
  Case plan;
  for (int n = 0; n < options.count; ++n) {
    if (n % kLaunchesPerPlan == 0)
      plan = randomPlan(random, hasGpuCode());
    cases.push_back(randomLaunch(plan, random));
  }
  return cases;
}

/// The error ratio of each result in each element type.
class Summary {
public:
  void add(DType dtype, const std::vector<NamedError> &errors) {
    for (const auto &[name, error] : errors)
      if (double ratio = error.ratio(); !std::isnan(ratio))
        ratios_[std::string(toString(dtype)) + " " + std::string(name)].push_back(ratio);
  }
  void print() {
    for (auto &[name, ratios] : ratios_) {
      std::sort(ratios.begin(), ratios.end());
      std::printf("%-10s error ratio: median %.2f, largest %.2f of %zu\n", name.c_str(), ratios[ratios.size() / 2],
                  ratios.back(), ratios.size());
    }
  }

private:
  std::map<std::string, std::vector<double>> ratios_;
};

struct Count {
  int run = 0;
  int failed = 0;
};

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Runs the cases on several threads while there is time.
Count runAll(const std::vector<Case> &cases, const Options &options, std::chrono::steady_clock::time_point start) {
  std::atomic<size_t> next = 0;
  Count count;
  Summary summary;
  std::mutex results;
  auto work = [&] {
    for (size_t n; secondsSince(start) < options.seconds && (n = next++) < cases.size();) {
      std::vector<NamedError> errors;
      std::string complaints = runCase(cases[n], &errors);
      std::lock_guard lock(results);
      summary.add(cases[n].dtype, errors);
      ++count.run;
      if (!complaints.empty()) {
        ++count.failed;
        std::printf("FAILED --case \"%s\"\n%s\n", toString(cases[n]).c_str(),
                    complaints.substr(complaints.find('\n') + 1).c_str());
        std::fflush(stdout);
      }
    }
  };
  std::vector<std::jthread> workers;
  for (int n = 0; n < options.threads; ++n)
    workers.emplace_back(work);
  workers.clear();
  summary.print();
  return count;
}

int runOne(const std::string &text) {
  Expected<Case> c = parseCase(text);
  if (!c)
    usage(c.status().message().c_str());
  std::string complaints = runCase(*c);
  std::printf("%s", complaints.empty() ? "passed\n" : complaints.c_str());
  return complaints.empty() ? 0 : 1;
}

int runRandom(const Options &options) {
  auto start = std::chrono::steady_clock::now();
  Count count = runAll(casesFor(options), options, start);
  std::printf("seed %llu: %d of %d configurations failed, %.0f s\n", static_cast<unsigned long long>(options.seed),
              count.failed, count.run, secondsSince(start));
  return count.failed || !count.run ? 1 : 0;
}

} // namespace
} // namespace tegula::testing

int main(int argc, char **argv) {
  using namespace tegula::testing;
  Options options = parseOptions(argc, argv);
  return options.one.empty() ? runRandom(options) : runOne(options.one);
}
