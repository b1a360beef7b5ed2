// SPDX-License-Identifier: MIT
// Work on the simt device under many interleavings of lanes, and with mutants of instructions that order others.
#pragma once

#include "tegula/simt_device.h"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace tegula {

/// Work that runs again and again, with the same results.
class Explored {
public:
  virtual ~Explored() = default;
  /// Runs once. `mutation` is the change that the device makes; null for none. Findings are no error: see
  /// unlessFound().
  virtual Status run(const SimtMutation *mutation) = 0;
  /// Returns the bytes of the results.
  virtual Expected<std::vector<char>> results() = 0;
  /// Returns the sizes and gaps of the launch, such as "n=99 row_gaps=x=3".
  virtual std::string name() const { return ""; }
};

/// Returns `status`, except for launch_failed, because the device's report has the findings.
Status unlessFound(const Status &status);

struct ExplorationOptions {
  int64_t schedules = 1; ///< The number of interleavings.
  SimtScheduler scheduler = SimtScheduler::uniform;
  std::string mutate = {}; ///< "all", or names of kernels and mutants with commas between them.
  bool traffic = false;
};

/// A launch in which mutants were tried.
struct ExploredLaunch {
  std::string name;   ///< Explored::name().
  int64_t killed = 0; ///< Mutants that this launch killed and no launch before it.
};

struct Exploration {
  int64_t schedules = 0;
  std::vector<SimtFinding> findings;
  int64_t different_results = 0; ///< Schedules whose results differ in some bit from those of the first.
  int64_t mutants_total = 0, mutants_killed = 0;
  std::vector<std::string> survivors;     ///< Mutants that a launch reached and none killed.
  std::vector<std::string> unreached;     ///< Mutants whose instruction no launch reached.
  std::vector<ExploredLaunch> launches;   ///< The run and the others, if mutants were tried.
  std::vector<std::string> left_out = {}; ///< Launches that a plan refuses, with the reasons.
  std::vector<SimtTraffic> traffic;       ///< Traffic of the first schedule; one row for all copies of an instruction.

  int64_t count(std::initializer_list<SimtErrorKind> faults) const;
};

/// Runs interleavings with the seeds from `seed` on. Any finding kills a mutant. If the unchanged kernels have
/// findings, no mutant is tried, because each would seem to be killed. `others` are runs of the same kernels with other
/// shapes. They must be clean, too. A mutant that `run` does not kill is tried with them, because some waits and
/// barriers matter only if a loop has no iteration, or if rows do not start at multiples of 16 bytes. Mutants that
/// change nothing are not counted: `ordersNoMemory` and `delaysNothing` (workload/mutants.h).
Expected<Exploration> explore(Explored &run, std::span<Explored *const> others, SimtDevice &device,
                              const ExplorationOptions &options, uint64_t seed);

/// Returns launch_failed if there are findings, or mutants that survived.
Status verdict(const Exploration &exploration);
/// Returns launch_failed if there are mutants that no launch reached. Nothing is known about them.
Status reachVerdict(const Exploration &exploration);

} // namespace tegula
