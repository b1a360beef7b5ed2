// SPDX-License-Identifier: MIT
#include "run_search.h"

#include "compile_queue.h"
#include "measurer.h"
#include "race.h"
#include "remote_device.h"
#include "tegula/cpu_info.h"
#include "tegula/guard.h"
#include "workload/gpu_monitor.h"
#include "workload/timing.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace tegula::tuning {
namespace {

/// The part of the budget after which nothing more is compiled.
constexpr double kShareToCompile = 0.6;
/// Bytes of registers that a thread keeps in memory outside the loop, as a rule.
constexpr int kHarmlessSpill = 64;
/// The beginning of ptxas's notes on matrix products that it serialized and register budgets that it ignored.
constexpr std::string_view kSlowCodeNote = "(C75";
/// Kernels that are faster than this are launched several times in each lap.
constexpr double kShortMs = 10;
constexpr int kLaunchesOfShort = 3;
/// The time that each kernel runs at a stretch in the last round. The GPU's clock follows the power that the kernel
/// takes, so that each kernel needs time to reach its own clock.
constexpr double kLastRoundMs = 25;
constexpr int kMaxLaunches = 64;
/// The least and the most launches in a window of a schedule that was given.
constexpr int kMinWindow = 3, kMaxWindow = 4096;
/// The part of a window's launches that run untimed before it.
constexpr double kWarmUpOfWindow = 0.3;

std::string firstLine(const std::string &text) { return text.substr(0, text.find('\n')); }

class Search {
public:
  Search(Subject &subject, Compiler &compiler, const TuningOptions &options)
      : options_(options), subject_(subject), compiler_(compiler), measurer_(options, subject, compiler),
        result_(subject.about()) {}

  Expected<Tuning> run() {
    if (Status status = prepare(); status.code() == ErrorCode::cancelled)
      stopped_ = true;
    else
      TEGULA_RETURN_IF_ERROR(status);
    if (!stopped_)
      search();
    result_.complete = !stopped_;
    result_.seconds = 1e-3 * stopwatch_.milliseconds();
    if (options_.exhaustive && !stopped_)
      measureAll();
    return std::move(result_);
  }

private:
  /// Finds the candidates, and starts the process that measures them. Returns cancelled if the caller stopped it.
  Status prepare() {
    result_.given = !options_.given.empty();
    Expected<std::vector<Candidate>> candidates =
        result_.given ? givenCandidates() : subject_.candidates(options_.max_candidates);
    if (!candidates)
      return candidates.status();
    result_.candidates = std::move(*candidates);
    TEGULA_RETURN_IF_ERROR(subject_.prepare(measurer_.cache(), compiler_, options_));
    return measurer_.start();
  }

  void search() {
    compileAndCheck(indicesOf({CandidateState::waiting}), /*lenient=*/result_.given);
    if (result_.given)
      timeInWindows();
    else
      race();
  }

  Expected<std::vector<Candidate>> givenCandidates() const {
    std::vector<Candidate> candidates;
    for (const Configuration &given : options_.given) {
      Expected<Candidate> candidate = subject_.candidateOf(given);
      if (!candidate)
        return candidate.status();
      candidates.push_back(std::move(*candidate));
    }
    return candidates;
  }

  /// Returns true if work that may take this share of the budget must end.
  bool isOver(double share) {
    stopped_ = stopped_ || (options_.stopped && options_.stopped());
    bool late = 1e-3 * stopwatch_.milliseconds() > share * options_.budget_seconds;
    return stopped_ || (late && !options_.exhaustive && !result_.given);
  }

  void report(std::string_view activity, double fraction) {
    if (options_.progress)
      options_.progress({activity, fraction, timed_});
  }

  std::vector<size_t> indicesOf(std::initializer_list<CandidateState> states) const {
    std::vector<size_t> indices;
    for (size_t n = 0; n < result_.candidates.size(); ++n)
      if (std::find(states.begin(), states.end(), result_.candidates[n].state) != states.end())
        indices.push_back(n);
    return indices;
  }

  /// Notes how a candidate failed. A request that the caller stopped says nothing about its candidate.
  void fail(size_t index, const Status &status) {
    if (status.code() == ErrorCode::cancelled)
      stopped_ = true;
    else
      leave(index, status.code() == ErrorCode::compile_timeout ? CandidateState::hung : CandidateState::faulted,
            status.message());
  }

  /// Notes why a candidate does not go on.
  void leave(size_t index, CandidateState state, std::string why) {
    result_.candidates[index].state = state;
    result_.candidates[index].why = std::move(why);
  }

  /// Compiles and checks candidates. If `lenient`, spills and notes of ptxas do not rule a candidate out.
  void compileAndCheck(const std::vector<size_t> &indices, bool lenient) {
    int threads = options_.compile_threads > 0 ? options_.compile_threads : usableCores();
    CompileQueue queue(indices, threads, [&](size_t index) {
      return guarded([&] { return subject_.makePlan(index, result_.candidates[index], measurer_.cache()); });
    });
    std::deque<size_t> unchecked;
    size_t done = 0;
    while ((!queue.empty() || !unchecked.empty()) && !isOver(kShareToCompile)) {
      report("compiling and checking", double(done) / double(indices.size()));
      // Compiled candidates are sent first, so that they are loaded while others are checked.
      if (std::optional<Compiled> compiled = queue.next(std::chrono::milliseconds(unchecked.empty() ? 50 : 0))) {
        size_t index = compiled->candidate;
        if (accept(index, compiled->kernel, lenient)) {
          measurer_.loadSoon();
          unchecked.push_back(index);
        } else {
          ++done;
        }
      } else if (!unchecked.empty()) {
        check(unchecked.front());
        unchecked.pop_front();
        ++done;
      }
    }
  }

  /// Returns true if the candidate goes on with the kernel that the compiler made.
  bool accept(size_t index, const Expected<std::shared_ptr<Kernel>> &kernel, bool lenient) {
    Candidate &candidate = result_.candidates[index];
    if (!kernel) {
      if (kernel.status().code() == ErrorCode::cancelled)
        stopped_ = true;
      else
        leave(index, CandidateState::refused, firstLine(kernel.status().message()));
      return false;
    }
    const Artifact &artifact = artifactOf(**kernel);
    const AssemblerReport &report = artifact.report;
    candidate.registers = report.registers;
    candidate.spill_bytes = report.spill_bytes;
    candidate.shared_bytes = artifact.shared_bytes;
    bool first = index == 0; // The schedule without tuning stays in the race, so that one candidate is left.
    std::string objection;
    if (report.spill_bytes > kHarmlessSpill)
      objection = fmt::format("spills {} bytes", report.spill_bytes);
    else if (size_t note = report.notes.find(kSlowCodeNote); note != std::string::npos)
      objection = firstLine(report.notes.substr(note));
    if (lenient || first || objection.empty())
      return true;
    leave(index, CandidateState::spilled, objection);
    return false;
  }

  void check(size_t index) {
    const Expected<Verdict> verdict = measurer_.check(index);
    if (!verdict)
      return fail(index, verdict.status());
    if (!verdict->status.ok())
      return leave(index, CandidateState::wrong, verdict->status.message());
    result_.candidates[index].error_ratio = verdict->error_ratio;
    result_.candidates[index].state = CandidateState::checked;
  }

  /// Returns the number of launches in each lap, and warms the machine up.
  int launchesFor(size_t index) {
    const Expected<double> ms = measurer_.warmUp(index);
    return ms && *ms <= kShortMs ? kLaunchesOfShort : 1;
  }

  static int launchesOfLastRound(double ms) {
    return int(std::min<double>(kLastRoundMs / std::max(ms, 1e-3), kMaxLaunches));
  }

  /// Times runner by runner until the race is over. Calls `fail` for each runner that cannot go on.
  template <class Fail> void runLaps(Race &race, const std::vector<size_t> &runners, Fail fail) {
    if (runners.empty() || isOver(1))
      return;
    int few = launchesFor(runners.front());
    for (; !race.finished() && !isOver(1); race.endRound())
      for (int lap = 0; lap < race.laps(); ++lap)
        for (size_t runner : race.nextLap()) {
          if (isOver(1))
            return;
          report("timing", race.progress());
          int launches = race.isLastRound() ? std::max(few, launchesOfLastRound(race.median(runner))) : few;
          const Expected<std::vector<double>> ms = measurer_.time(runners[runner], launches);
          if (ms) {
            race.add(runner, *ms);
            timed_ = std::max(timed_, race.timed());
          } else if (ms.status().code() == ErrorCode::cancelled) {
            stopped_ = true;
          } else {
            fail(runners[runner], ms.status());
            race.retire(runner);
          }
        }
  }

  void keepSamples(const Race &race, const std::vector<size_t> &runners) {
    for (size_t runner = 0; runner < runners.size(); ++runner) {
      const std::vector<double> &samples = race.samples(runner);
      Candidate &candidate = result_.candidates[runners[runner]];
      if (samples.empty())
        continue;
      candidate.samples = int(samples.size());
      candidate.ms = race.median(runner);
      candidate.fastest_ms = *std::min_element(samples.begin(), samples.end());
      if (candidate.state == CandidateState::checked)
        candidate.state = CandidateState::beaten;
    }
  }

  void race() {
    std::vector<size_t> runners = indicesOf({CandidateState::checked});
    if (runners.empty())
      return;
    Race race(runners.size(), /*to_the_end=*/false, unsigned(options_.seed));
    runLaps(race, runners, [&](size_t index, const Status &status) { fail(index, status); });
    keepSamples(race, runners);
    for (size_t runner : race.running())
      if (Candidate &candidate = result_.candidates[runners[runner]]; candidate.timed())
        candidate.state = race.finished() ? CandidateState::finalist : CandidateState::unfinished;
    result_.best = fastest(race, runners);
  }

  /// Returns the index of the fastest candidate that is still in the race.
  std::optional<size_t> fastest(const Race &race, const std::vector<size_t> &runners) const {
    std::optional<size_t> best;
    for (size_t runner : race.running()) {
      size_t index = runners[runner];
      bool timed = !race.samples(runner).empty();
      if (timed && (!best || result_.candidates[index].ms < result_.candidates[*best].ms))
        best = index;
    }
    return best;
  }

  /// The windows of one candidate.
  struct Windows {
    size_t index;
    int launches = 0; ///< In a window; 0 before the first one.
    std::vector<double> ms = {}, clock_mhz = {}, watts = {};
  };

  /// Returns how many launches of a candidate fill a window.
  Expected<int> launchesOfWindow(size_t index) {
    const Expected<std::vector<double>> ms = measurer_.time(index, kMinWindow);
    if (!ms)
      return ms.status();
    const double one = std::max(tools::median(*ms), 1e-3);
    return int(std::clamp<double>(1e3 * options_.window_seconds / one, kMinWindow, kMaxWindow));
  }

  /// Times a candidate for one window. Appends its median time and the GPU's readings, if the window counts.
  Status timeWindow(Windows &windows, bool counts) {
    if (windows.launches == 0) {
      const Expected<int> launches = launchesOfWindow(windows.index);
      if (!launches)
        return launches.status();
      windows.launches = *launches;
    }
    // A failure of these launches shows again.
    (void)measurer_.time(windows.index, std::max(1, int(kWarmUpOfWindow * windows.launches)));
    tools::GpuMonitor monitor(result_.machine.target);
    const Expected<std::vector<double>> ms = measurer_.time(windows.index, windows.launches);
    const tools::GpuMonitor::Average average = monitor.stop();
    if (!ms || !counts)
      return ms.status();
    windows.ms.push_back(tools::median(*ms));
    if (average.clock_mhz)
      windows.clock_mhz.push_back(*average.clock_mhz);
    if (average.watts)
      windows.watts.push_back(*average.watts);
    return {};
  }

  void keepWindows(const Windows &windows) {
    Candidate &candidate = result_.candidates[windows.index];
    if (windows.ms.empty() || candidate.state != CandidateState::checked)
      return;
    const auto mean = [](const std::vector<double> &values) {
      return values.empty() ? std::optional<double>()
                            : std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
    };
    const bool toTheEnd = windows.ms.size() == size_t(options_.rounds);
    candidate.state = toTheEnd ? CandidateState::finalist : CandidateState::unfinished;
    candidate.samples = int(windows.ms.size());
    candidate.ms = tools::median(windows.ms);
    candidate.fastest_ms = *std::min_element(windows.ms.begin(), windows.ms.end());
    candidate.clock_mhz = mean(windows.clock_mhz);
    candidate.watts = mean(windows.watts);
    if (!result_.best || candidate.ms < result_.candidates[*result_.best].ms)
      result_.best = windows.index;
  }

  /// Times the candidates that were given, in rounds of one window each. The first round only warms up.
  void timeInWindows() {
    std::vector<Windows> runners;
    for (size_t index : indicesOf({CandidateState::checked}))
      runners.push_back({.index = index});
    if (!runners.empty())
      (void)measurer_.warmUp(runners.front().index);
    for (int round = 0; round <= options_.rounds; ++round) {
      for (Windows &runner : runners) {
        if (result_.candidates[runner.index].state != CandidateState::checked || isOver(1))
          continue;
        report("timing", double(round) / double(options_.rounds + 1));
        if (const Status status = timeWindow(runner, /*counts=*/round > 0); !status.ok())
          fail(runner.index, status);
        timed_ = size_t(std::ranges::count_if(runners, [](const Windows &one) { return !one.ms.empty(); }));
      }
      std::reverse(runners.begin(), runners.end()); // So that no candidate always follows the same one.
    }
    for (const Windows &runner : runners)
      keepWindows(runner);
  }

  /// Times every candidate that compiles and is right to the end, and finds the fastest. If the caller stops it, the
  /// figures of the search stay.
  void measureAll() {
    std::vector<size_t> excluded =
        indicesOf({CandidateState::impossible, CandidateState::unlikely, CandidateState::spilled});
    std::vector<Candidate> judged = result_.candidates;
    compileAndCheck(excluded, /*lenient=*/true);
    std::vector<size_t> runners = indicesOf(
        {CandidateState::checked, CandidateState::beaten, CandidateState::unfinished, CandidateState::finalist});
    Race race(runners.size(), /*to_the_end=*/true, unsigned(options_.seed));
    runLaps(race, runners, [](size_t, const Status &) {});
    if (stopped_) {
      result_.candidates = std::move(judged);
      result_.exhaustive = {.timed = race.timed()};
      return;
    }
    if (runners.empty())
      return;
    keepSamples(race, runners);
    result_.exhaustive = {.timed = race.timed(), .best = fastest(race, runners)};
    // The state that the tuner gave them stays visible.
    for (size_t index : excluded)
      if (result_.candidates[index].timed()) {
        result_.candidates[index].state = judged[index].state;
        result_.candidates[index].why = judged[index].why;
      }
  }

  const TuningOptions &options_;
  Subject &subject_;
  Compiler &compiler_;
  Measurer measurer_;
  Tuning result_;
  tools::Stopwatch stopwatch_;
  size_t timed_ = 0; ///< The number of candidates that have been timed.
  bool stopped_ = false;
};

} // namespace

Expected<Tuning> runSearch(Subject &subject, Compiler &compiler, const TuningOptions &options) {
  return Search(subject, compiler, options).run();
}

} // namespace tegula::tuning
