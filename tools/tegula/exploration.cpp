// SPDX-License-Identifier: MIT
#include "exploration.h"
#include "legal_values.h"
#include "workload/mutants.h"
#include "workload/timing.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <sstream>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

constexpr int64_t kMaxSchedules = 100'000'000;

/// Returns the mutants that `list` names. A kernel may have none.
Expected<std::vector<Mutant>> chosenMutants(const SimtDevice &device, const std::string &list) {
  const std::vector<SimtSite> sites = device.sites();
  std::vector<Mutant> all;
  for (const SimtSite &site : sites)
    std::ranges::move(mutantsOf(site), std::back_inserter(all));
  if (list == "all")
    return all;
  std::vector<Mutant> chosen;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    const size_t before = chosen.size();
    std::ranges::copy_if(all, std::back_inserter(chosen), [&](const Mutant &mutant) {
      return mutant.mutation.kernel == word || mutant.name.starts_with(word + " ");
    });
    if (chosen.size() == before && std::ranges::find(sites, word, &SimtSite::kernel) == sites.end())
      return Status(ErrorCode::invalid_argument,
                    fmt::format("--mutate: there is no mutant '{}'; legal are all, kernels, and names such as {}", word,
                                all.empty() ? "none" : all.front().name));
  }
  return chosen;
}

/// Returns one row for each instruction and line of source, the most wasteful ones first.
std::vector<SimtTraffic> byLine(const std::vector<SimtTraffic> &all) {
  std::vector<SimtTraffic> rows;
  for (const SimtTraffic &traffic : all) {
    const auto same = std::ranges::find_if(rows, [&](const SimtTraffic &row) {
      return row.site.kernel == traffic.site.kernel && row.site.instruction == traffic.site.instruction &&
             row.site.location == traffic.site.location && row.global == traffic.global;
    });
    if (same == rows.end()) {
      rows.push_back(traffic);
      continue;
    }
    same->requests += traffic.requests;
    same->transactions += traffic.transactions;
    same->ideal += traffic.ideal;
  }
  std::ranges::stable_sort(rows, std::greater(), [](const SimtTraffic &row) { return row.transactions - row.ideal; });
  return rows;
}

class Explorer {
public:
  Explorer(const AttentionRun &run, std::span<const AttentionRun> others, SimtDevice &device,
           const ExplorationOptions &options, uint64_t seed, bool backward)
      : run_(run), others_(others), device_(device), options_(options), seed_(seed), backward_(backward) {}

  Expected<Exploration> explore() {
    for (int64_t i = 0; i < options_.schedules; ++i)
      TEGULA_RETURN_IF_ERROR(runCorrect(i));
    for (const AttentionRun &other : others_)
      TEGULA_RETURN_IF_ERROR(runCorrect(other));
    Expected<std::vector<Mutant>> mutants = chosenMutants(device_, options_.mutate);
    if (!mutants)
      return mutants.status();
    for (const Mutant &mutant : *mutants)
      TEGULA_RETURN_IF_ERROR(runMutant(mutant));
    return std::move(result_);
  }

private:
  Status runCorrect(int64_t number) {
    Expected<SimtReport> report = runOnce(run_, number, {});
    if (!report)
      return report.status();
    ++result_.schedules;
    if (number == 0)
      result_.traffic = byLine(report->traffic);
    addFindings(*report);
    return compare(number);
  }

  Status runCorrect(const AttentionRun &other) {
    for (int64_t i = 0; i < options_.schedules; ++i) {
      Expected<SimtReport> report = runOnce(other, i, {});
      if (!report)
        return report.status();
      addFindings(*report);
    }
    return {};
  }

  void addFindings(SimtReport &report) {
    for (SimtFinding &finding : report.findings)
      if (result_.findings.size() < kMaxFindings)
        result_.findings.push_back(std::move(finding));
  }

  enum class Fate { unreached, survived, killed };

  /// Runs a mutant until an interleaving shows the error.
  Expected<Fate> runMutant(const AttentionRun &run, const Mutant &mutant) {
    bool reached = false;
    for (int64_t i = 0; i < options_.schedules; ++i) {
      Expected<SimtReport> report = runOnce(run, i, mutant.mutation);
      if (!report)
        return report.status();
      if (!report->findings.empty())
        return Fate::killed;
      reached |= report->mutation_reached;
    }
    return reached ? Fate::survived : Fate::unreached;
  }

  Status runMutant(const Mutant &mutant) {
    Expected<Fate> fate = runMutant(run_, mutant);
    for (size_t i = 0; fate && *fate != Fate::killed && i < others_.size(); ++i) {
      Expected<Fate> there = runMutant(others_[i], mutant);
      fate = there ? Expected(std::max(*fate, *there)) : there;
    }
    if (!fate)
      return fate.status();
    result_.mutants_total += *fate != Fate::unreached;
    result_.mutants_killed += *fate == Fate::killed;
    if (*fate != Fate::killed)
      (*fate == Fate::survived ? result_.survivors : result_.unreached).push_back(mutant.name);
    return {};
  }

  Expected<SimtReport> runOnce(const AttentionRun &run, int64_t number, const std::optional<SimtMutation> &mutation) {
    device_.setSchedule({.scheduler = options_.scheduler,
                         .seed = seed_ + uint64_t(number),
                         .mutation = mutation,
                         .count_traffic = options_.traffic && number == 0 && !mutation});
    const bool isFirst = &run == &run_ && number == 0 && !mutation;
    if (!mutation || !isOfBackward(mutation->kernel)) {
      Stopwatch forward;
      TEGULA_RETURN_IF_ERROR(unlessFound(run.forward()));
      if (isFirst)
        result_.forward_ms = forward.milliseconds();
    }
    TEGULA_RETURN_IF_ERROR(run.data().clearVariantGradients());
    Stopwatch backward;
    if (backward_)
      TEGULA_RETURN_IF_ERROR(unlessFound(run.backward()));
    if (isFirst)
      result_.backward_ms = backward.milliseconds();
    return device_.takeReport();
  }

  /// Returns true for a kernel of the backward pass. A mutant of one reads the results of the correct forward pass,
  /// which ran before.
  static bool isOfBackward(std::string_view kernel) { return kernel.starts_with("flash2_backward"); }

  /// Returns `status`, except for launch_failed, because the report has the findings.
  static Status unlessFound(const Status &status) {
    return status.code() == ErrorCode::launch_failed ? Status() : status;
  }

  Status compare(int64_t number) {
    Expected<AttentionArrays> arrays = readArrays(run_.data(), backward_);
    if (!arrays)
      return arrays.status();
    if (number == 0)
      result_.arrays = std::move(*arrays);
    else if (!sameBits(*arrays, result_.arrays))
      ++result_.different_results;
    return {};
  }

  static bool sameBits(const AttentionArrays &x, const AttentionArrays &y) {
    return sameBits(x.o, y.o) && sameBits(x.lse, y.lse) && sameBits(x.dq, y.dq) && sameBits(x.dk, y.dk) &&
           sameBits(x.dv, y.dv) &&
           std::ranges::equal(x.variant_gradients, y.variant_gradients,
                              [](const auto &a, const auto &b) { return sameBits(a, b); });
  }

  static bool sameBits(const std::vector<float> &x, const std::vector<float> &y) {
    return std::ranges::equal(x, y,
                              [](float a, float b) { return std::bit_cast<int32_t>(a) == std::bit_cast<int32_t>(b); });
  }

  static constexpr size_t kMaxFindings = 100;

  const AttentionRun &run_;
  std::span<const AttentionRun> others_;
  SimtDevice &device_;
  const ExplorationOptions &options_;
  uint64_t seed_;
  bool backward_;
  Exploration result_;
};

} // namespace

void addExplorationOptions(CLI::App &command, ExplorationOptions &o) {
  addNumber(command, "--schedules", o.schedules, 1, kMaxSchedules, "simt: orders of lanes to try (1)");
  addWord(command, "--scheduler", {"uniform", "priority", "eager", "lazy", "laggard", "runaway"}, o.scheduler,
          parseSimtScheduler,
          "simt: uniform, priority (one warp goes ahead), eager or lazy\n(copies land at once, or at the last moment), "
          "laggard (a\nlane of each warp falls behind) or runaway (four warps go ahead,\nturns or not) (uniform)");
  command
      .add_option("--mutate", o.mutate,
                  "simt: leave out, weaken or delay barriers, waits and fences,\none at a time: all, those of kernels, "
                  "or names, "
                  "with commas")
      ->type_name("LIST");
  command.add_flag("--traffic", o.traffic, "simt: count bank conflicts and sectors of memory");
}

bool isUsed(const ExplorationOptions &o) {
  return o.schedules != 1 || o.scheduler != SimtScheduler::uniform || !o.mutate.empty() || o.traffic;
}

int64_t Exploration::count(std::initializer_list<SimtErrorKind> faults) const {
  return std::ranges::count_if(
      findings, [&](const SimtFinding &finding) { return std::ranges::find(faults, finding.fault) != faults.end(); });
}

Expected<Exploration> explore(const AttentionRun &run, std::span<const AttentionRun> others, SimtDevice &device,
                              const ExplorationOptions &options, uint64_t seed, bool backward) {
  return Explorer(run, others, device, options, seed, backward).explore();
}

Status verdict(const Exploration &exploration) {
  if (!exploration.findings.empty())
    return {ErrorCode::launch_failed, exploration.findings.front().message};
  if (!exploration.survivors.empty())
    return {ErrorCode::launch_failed, "a mutant survived: " + exploration.survivors.front()};
  return {};
}

} // namespace tegula::tools
