// SPDX-License-Identifier: MIT
// Attention on the simt device under many interleavings of lanes, and with mutants of instructions that order others.
#pragma once

#include "tegula/simt_device.h"
#include "workload/attention_arrays.h"
#include "workload/attention_run.h"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tegula::tools {

struct ExplorationOptions {
  int64_t schedules = 1;
  SimtScheduler scheduler = SimtScheduler::uniform;
  std::string mutate; ///< "all", or names of kernels and mutants with commas between them.
  bool traffic = false;
};

void addExplorationOptions(CLI::App &command, ExplorationOptions &options);
bool isUsed(const ExplorationOptions &options);

struct Exploration {
  int64_t schedules = 0;
  double forward_ms = 0, backward_ms = 0; ///< Times of the first schedule.
  AttentionArrays arrays;                 ///< Results of the first schedule.
  std::vector<SimtFinding> findings;
  int64_t different_results = 0; ///< Schedules whose results differ in some bit from those of the first.
  int64_t mutants_total = 0, mutants_killed = 0;
  std::vector<std::string> survivors, unreached;
  std::vector<SimtTraffic> traffic; ///< Traffic of the first schedule; one row for all copies of an instruction.

  int64_t count(std::initializer_list<SimtErrorKind> faults) const;
};

/// Runs schedules with the seeds from `seed` on. Any finding kills a mutant. `others` are runs of the same kernels with
/// other shapes. They must be clean, too. A mutant that `run` does not kill is tried with them, because some waits and
/// barriers matter only if a loop has no iteration.
Expected<Exploration> explore(const AttentionRun &run, std::span<const AttentionRun> others, SimtDevice &device,
                              const ExplorationOptions &options, uint64_t seed, bool backward);

/// Returns launch_failed if there are findings, or mutants that survived.
Status verdict(const Exploration &exploration);

} // namespace tegula::tools
