// SPDX-License-Identifier: MIT
// Kernels with one change to an instruction that orders others, for the simt device.
#pragma once

#include "tegula/exploration.h"
#include "tegula/simt_device.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::tools {

struct Mutant {
  std::string name; ///< Such as "flash2_forward:7:weaken (bar.sync at flash2_forward.cpp:24)".
  SimtMutation mutation;
};

/// Returns the mutants of an instruction; none if it orders no others.
std::vector<Mutant> mutantsOf(const SimtSite &site);

/// Returns true for an arrival or a wait at an mbarrier that orders no memory. It is no error: ptxas makes the same
/// instructions of it, with those for shared memory in the same order (tests/kernels/assembled_test.cpp).
bool ordersNoMemory(std::string_view mutant);
/// Returns true for a mutant that delays a wait that no access to shared memory follows. Lanes have not `reached` it.
bool delaysNothing(const Mutant &mutant, bool reached);

/// Runs kernels once in an interleaving. Returns the report of the device, or an error that is no finding.
using SimtRun = std::function<Expected<SimtReport>(const SimtInterleaving &interleaving)>;
/// Returns a function that runs `run` on the device. Both must outlive it.
SimtRun runOf(Explored &run, SimtDevice &device);

/// Interleavings of one scheduler, with the seeds from `seed` on.
struct SimtInterleavings {
  SimtScheduler scheduler = SimtScheduler::uniform;
  int64_t count = 1;
  uint64_t seed = 1;

  SimtInterleaving operator[](int64_t number) const {
    return {.scheduler = scheduler, .seed = seed + uint64_t(number)};
  }
};

/// The result of running a mutant, from the least to the most.
enum class MutantFate : uint8_t {
  unreached, ///< No lane has come to the changed instruction.
  survived,
  killed, ///< A run has a finding.
};

struct MutantResult {
  MutantFate fate = MutantFate::unreached;
  size_t killer = 0; ///< The index of the run that has killed it.
};

/// Runs a mutant until a run kills it: each of the runs in all interleavings, one run after the other.
Expected<MutantResult> resultOf(const Mutant &mutant, std::span<const SimtRun> runs,
                                const SimtInterleavings &interleavings);

} // namespace tegula::tools
