// SPDX-License-Identifier: MIT
#include "workload/mutants.h"

#include <fmt/format.h>

#include <algorithm>

namespace tegula::tools {
namespace {

/// An instruction that orders others, and the changes to it besides leaving it out. A barrier or a fence that comes
/// after the accesses that it orders might as well be left out, so it is not delayed. A late wait differs from a
/// missing one, because a copy that nothing waits for is an error, too. An arrival that comes later orders as much and
/// more. The bytes of a copy may be expected after it has started, as long as the arrival of that phase is missing.
/// sm.sequence_wait and sm.sequence_arrive are not in the list, because they order nothing: leaving them out gives
/// another schedule.
struct Orderer {
  std::string_view instruction;
  bool weakens, delays;
};

constexpr Orderer kOrderers[] = {
    {"bar.sync", true, false},
    {"bar.arrive", false, false},
    {"bar.warp.sync", false, false},
    {"barrier.cluster.arrive", false, false},
    {"barrier.cluster.wait", false, true},
    {"cp.async.commit_group", false, false},
    {"cp.async.wait_group", true, true},
    {"cp.async.bulk.commit_group", false, false},
    {"cp.async.bulk.wait_group", true, true},
    {"fence.proxy.async", false, false},
    {"fence.mbarrier_init", false, false},
    {"mbarrier.arrive", true, false},
    {"mbarrier.arrive.expect_tx", true, false},
    {"mbarrier.try_wait", true, true},
    {"tcgen05.commit", false, false},
    {"tcgen05.dealloc", false, false},
    {"tcgen05.fence::after_thread_sync", false, false},
    {"tcgen05.fence::before_thread_sync", false, false},
    {"tcgen05.wait::ld", false, false},
    {"wgmma.fence", false, false},
    {"wgmma.commit_group", false, false},
    {"wgmma.wait_group", true, false},
};

} // namespace

std::vector<Mutant> mutantsOf(const SimtSite &site) {
  const auto *orderer = std::ranges::find(kOrderers, site.instruction, &Orderer::instruction);
  if (orderer == std::end(kOrderers))
    return {};
  const std::string name = fmt::format("{}:{}", site.kernel, site.number);
  const std::string where = fmt::format(" ({} at {})", site.instruction, site.location);
  std::vector<Mutant> mutants = {{name + where, {site.kernel, site.number, SimtChange::remove}}};
  if (orderer->weakens)
    mutants.push_back({name + ":weaken" + where, {site.kernel, site.number, SimtChange::weaken}});
  if (orderer->delays)
    mutants.push_back({name + ":delay" + where, {site.kernel, site.number, SimtChange::delay}});
  return mutants;
}

SimtRun runOf(Explored &run, SimtDevice &device) {
  return [&run, &device](const SimtInterleaving &interleaving) -> Expected<SimtReport> {
    device.setSchedule(interleaving);
    TEGULA_RETURN_IF_ERROR(run.run(interleaving.mutation ? &*interleaving.mutation : nullptr));
    return device.takeReport();
  };
}

Expected<MutantResult> resultOf(const Mutant &mutant, std::span<const SimtRun> runs,
                                const SimtInterleavings &interleavings) {
  MutantFate fate = MutantFate::unreached;
  for (size_t run = 0; run < runs.size(); ++run)
    for (int64_t i = 0; i < interleavings.count; ++i) {
      SimtInterleaving interleaving = interleavings[i];
      interleaving.mutation = mutant.mutation;
      Expected<SimtReport> report = runs[run](interleaving);
      if (!report)
        return report.status();
      if (!report->findings.empty())
        return MutantResult{MutantFate::killed, run};
      if (report->mutation_reached)
        fate = MutantFate::survived;
    }
  return MutantResult{fate};
}

bool ordersNoMemory(std::string_view mutant) {
  return mutant.find(":weaken (mbarrier.arrive at") != std::string_view::npos ||
         mutant.find(":weaken (mbarrier.try_wait at") != std::string_view::npos;
}

bool delaysNothing(const Mutant &mutant, bool reached) {
  return mutant.mutation.change == SimtChange::delay && !reached;
}

} // namespace tegula::tools
