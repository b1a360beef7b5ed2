// SPDX-License-Identifier: MIT
// tegula_differential [--target cpu|cuda|simt] [--seed N] [--count N] [--seconds N] [--threads N]
//                     [--schedule shipped|"block_m=192 ..."]... [--case "dtype=f32 ..."]
//
// Runs `count` random configurations, or as many as `seconds` allow, and compares each with the oracle. Equal seeds and
// kinds of target give equal configurations. Prints each failing configuration as a line that --case takes, and exits
// with 1 if there was one.
//
// With --schedule, configurations of the forward pass use the given schedules one after another. `shipped` stands for
// the shipped schedules that have a producer. The first configuration of each plan runs again, 100 times on a GPU and 2
// times elsewhere, and must give the same bits. It is a failure if the compiler refuses a shipped schedule. Refusals of
// other schedules are counted by reason.
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
constexpr int kLaunchesPerPlanOfASchedule = 4;
constexpr int kReruns = 100, kRerunsOffGpu = 2; // Without a GPU, only the order of lanes could differ.

struct Options {
  uint64_t seed = 1;
  int count = 2000;
  double seconds = 1e9; ///< No further case starts after this time.
  int threads = 2;
  std::vector<ShippedSchedule> schedules; ///< Schedules of the forward pass; empty means random block sizes.
  std::string one;                        ///< A single case, instead of random ones.
};

[[noreturn]] void usage(const char *word) {
  std::fprintf(stderr,
               "unknown or incomplete option '%s'\n"
               "usage: tegula_differential [--target cpu|cuda|simt] [--seed N] [--count N] [--seconds N] [--threads N] "
               "[--schedule shipped|\"block_m=192 ...\"]... [--case \"dtype=f32 ...\"]\n",
               word);
  std::exit(2);
}

/// Returns the schedules that `word` names. A schedule in words is for head dimensions up to 128.
std::vector<ShippedSchedule> schedulesNamed(const char *word) {
  if (std::string_view(word) != "shipped") {
    Expected<Schedule> schedule = parseSchedule(word);
    if (!schedule)
      usage(schedule.status().message().c_str());
    return {{{.dtype = bf16, .head_dim = 128, .value_dim = 128}, *schedule}};
  }
  std::vector<ShippedSchedule> schedules;
  for (const ShippedSchedule &shipped : shippedSchedules(testDevice()->target(), "flash2_forward"))
    if (shipped.schedule.roles == Roles::load &&
        std::none_of(schedules.begin(), schedules.end(), [&](const auto &other) {
          return other.schedule == shipped.schedule && other.problem.head_dim == shipped.problem.head_dim;
        }))
      schedules.push_back(shipped);
  if (schedules.empty())
    usage("shipped: no schedule for this target has roles");
  return schedules;
}

Options parseOptions(int argc, char **argv) {
  Options options;
  std::vector<const char *> schedules; // Read last: they depend on the target.
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
    else if (word == "--schedule")
      schedules.push_back(argv[n + 1]);
    else if (word == "--case")
      options.one = argv[n + 1];
    else
      usage(argv[n]);
  }
  for (const char *schedule : schedules)
    for (const ShippedSchedule &named : schedulesNamed(schedule))
      options.schedules.push_back(named);
  return options;
}

/// A case, and the number of its reruns.
struct Run {
  Case c;
  int reruns = 0;
};

std::vector<Run> runsFor(const Options &options) {
  const int reruns = onGpu() ? kReruns : kRerunsOffGpu;
  const int launches = options.schedules.empty() ? kLaunchesPerPlan : kLaunchesPerPlanOfASchedule;
  std::vector<Run> runs;
  Random random(options.seed);
  Case plan;
  for (int n = 0; n < options.count; ++n) {
    const bool isFirst = n % launches == 0;
    if (isFirst && options.schedules.empty())
      plan = randomPlan(random, hasGpuCode());
    else if (isFirst)
      plan = randomPlan(random, options.schedules[size_t(n / launches) % options.schedules.size()]);
    runs.push_back({randomLaunch(plan, random), isFirst && !options.schedules.empty() ? reruns : 0});
  }
  return runs;
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
  std::map<std::string, int> refused; ///< Numbers of cases, by the compiler's reason.
};

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Returns the compiler's reason to refuse a schedule that does not ship; empty if there is none.
std::string refusalOf(const Run &run) {
  const auto isShipped = [&](const ShippedSchedule &shipped) { return shipped.schedule == run.c.schedule; };
  const std::vector<ShippedSchedule> table = shippedSchedules(testDevice()->target(), "flash2_forward");
  if (run.c.schedule == Schedule() || std::any_of(table.begin(), table.end(), isShipped))
    return "";
  const Status status = planFor(run.c).status();
  const bool isRefusal = status.code() == ErrorCode::compile_failed || status.code() == ErrorCode::resource_exhausted;
  return isRefusal ? status.message() : "";
}

/// Runs the cases on several threads while there is time.
Count runAll(const std::vector<Run> &runs, const Options &options, std::chrono::steady_clock::time_point start) {
  std::atomic<size_t> next = 0;
  Count count;
  Summary summary;
  std::mutex results;
  auto work = [&] {
    for (size_t n; secondsSince(start) < options.seconds && (n = next++) < runs.size();) {
      std::vector<NamedError> errors;
      const std::string refusal = refusalOf(runs[n]);
      std::string complaints = refusal.empty() ? runCase(runs[n].c, &errors, runs[n].reruns) : "";
      std::lock_guard lock(results);
      if (!refusal.empty()) {
        ++count.refused[refusal];
        continue;
      }
      summary.add(runs[n].c.dtype, errors);
      ++count.run;
      if (!complaints.empty()) {
        ++count.failed;
        std::printf("FAILED --case \"%s\"\n%s\n", toString(runs[n].c).c_str(),
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
  Count count = runAll(runsFor(options), options, start);
  for (const auto &[reason, times] : count.refused)
    std::printf("refused %d times: %s\n", times, reason.c_str());
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
