// SPDX-License-Identifier: MIT
#include "tegula/exploration.h"

#include "workload/mutants.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>

namespace tegula {
namespace {

using tools::Mutant, tools::MutantFate, tools::MutantResult, tools::mutantsOf, tools::runOf, tools::SimtInterleavings,
    tools::SimtRun;

/// Returns the mutants that `list` names. A kernel may have none.
Expected<std::vector<Mutant>> chosenMutants(const SimtDevice &device, const std::string &list) {
  const std::vector<SimtSite> sites = device.sites();
  std::vector<Mutant> all;
  for (const SimtSite &site : sites)
    std::ranges::move(mutantsOf(site), std::back_inserter(all));
  const auto isWanted = [](const Mutant &mutant) { return !tools::ordersNoMemory(mutant.name); };
  if (list == "all") {
    std::erase_if(all, std::not_fn(isWanted));
    return all;
  }
  std::vector<Mutant> chosen;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    const size_t before = chosen.size();
    std::ranges::copy_if(all, std::back_inserter(chosen), [&](const Mutant &mutant) {
      return (mutant.mutation.kernel == word && isWanted(mutant)) || mutant.name.starts_with(word + " ");
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
  Explorer(Explored &run, std::span<Explored *const> others, SimtDevice &device, const ExplorationOptions &options,
           uint64_t seed)
      : run_(run), others_(others), runs_{runOf(run, device)}, device_(device),
        options_(options), interleavings_{.scheduler = options.scheduler, .count = options.schedules, .seed = seed} {
    for (Explored *other : others)
      runs_.push_back(runOf(*other, device));
  }

  Expected<Exploration> explore() {
    for (int64_t i = 0; i < interleavings_.count; ++i)
      TEGULA_RETURN_IF_ERROR(runCorrect(i));
    for (size_t n = 0; n < others_.size() && result_.findings.empty(); ++n)
      TEGULA_RETURN_IF_ERROR(runCorrect(runs_[n + 1], others_[n]->name()));
    Expected<std::vector<Mutant>> mutants = chosenMutants(device_, options_.mutate);
    if (!mutants)
      return mutants.status();
    if (mutants->empty() || !result_.findings.empty())
      return std::move(result_);
    nameLaunches();
    for (const Mutant &mutant : *mutants)
      TEGULA_RETURN_IF_ERROR(runMutant(mutant));
    return std::move(result_);
  }

private:
  Status runCorrect(int64_t number) {
    SimtInterleaving interleaving = interleavings_[number];
    interleaving.count_traffic = options_.traffic && number == 0;
    Expected<SimtReport> report = runs_.front()(interleaving);
    if (!report)
      return report.status();
    ++result_.schedules;
    if (number == 0)
      result_.traffic = byLine(report->traffic);
    addFindings(*report);
    return compare(number);
  }

  Status runCorrect(const SimtRun &other, const std::string &name) {
    for (int64_t i = 0; i < interleavings_.count; ++i) {
      Expected<SimtReport> report = other(interleavings_[i]);
      if (!report)
        return report.status();
      for (SimtFinding &finding : report->findings)
        finding.message = fmt::format("with {}: {}", name, finding.message);
      addFindings(*report);
    }
    return {};
  }

  void addFindings(SimtReport &report) {
    for (SimtFinding &finding : report.findings)
      if (result_.findings.size() < kMaxFindings)
        result_.findings.push_back(std::move(finding));
  }

  Status runMutant(const Mutant &mutant) {
    Expected<MutantResult> result = resultOf(mutant, runs_, interleavings_);
    if (!result)
      return result.status();
    const bool reached = result->fate != MutantFate::unreached;
    if (tools::delaysNothing(mutant, reached))
      return {};
    result_.mutants_total += reached;
    if (result->fate == MutantFate::killed) {
      ++result_.mutants_killed;
      ++result_.launches[result->killer].killed;
    } else {
      (reached ? result_.survivors : result_.unreached).push_back(mutant.name);
    }
    return {};
  }

  void nameLaunches() {
    result_.launches.push_back({run_.name()});
    for (const Explored *other : others_)
      result_.launches.push_back({other->name()});
  }

  Status compare(int64_t number) {
    Expected<std::vector<char>> results = run_.results();
    if (!results)
      return results.status();
    if (number == 0)
      first_ = std::move(*results);
    else if (*results != first_)
      ++result_.different_results;
    return {};
  }

  static constexpr size_t kMaxFindings = 100;

  Explored &run_;
  const std::span<Explored *const> others_;
  std::vector<SimtRun> runs_; ///< Runs of `run_` and of the others.
  SimtDevice &device_;
  const ExplorationOptions &options_;
  const SimtInterleavings interleavings_;
  std::vector<char> first_; ///< The results of the first interleaving.
  Exploration result_;
};

} // namespace

int64_t Exploration::count(std::initializer_list<SimtErrorKind> faults) const {
  return std::ranges::count_if(
      findings, [&](const SimtFinding &finding) { return std::ranges::find(faults, finding.fault) != faults.end(); });
}

Status unlessFound(const Status &status) { return status.code() == ErrorCode::launch_failed ? Status() : status; }

Expected<Exploration> explore(Explored &run, std::span<Explored *const> others, SimtDevice &device,
                              const ExplorationOptions &options, uint64_t seed) {
  return Explorer(run, others, device, options, seed).explore();
}

Status verdict(const Exploration &exploration) {
  if (!exploration.findings.empty())
    return {ErrorCode::launch_failed, exploration.findings.front().message};
  if (!exploration.survivors.empty())
    return {ErrorCode::launch_failed, "a mutant survived: " + exploration.survivors.front()};
  return {};
}

Status reachVerdict(const Exploration &exploration) {
  if (exploration.unreached.empty())
    return {};
  return {ErrorCode::launch_failed,
          fmt::format("none of {} launches came to {} mutants, such as {}", exploration.launches.size(),
                      exploration.unreached.size(), exploration.unreached.front())};
}

} // namespace tegula
