// SPDX-License-Identifier: MIT
// The autotuner of attention: measures the schedules of one program at one shape, and returns the fastest.
//
// Candidates come from the kernel's search space (search_space.h), and are compared with a reference that shares no
// code with the kernels.
#pragma once

#include "tegula/attention.h"
#include "tegula/search.h"
#include "tegula/tuned_schedules.h"

#include <memory>
#include <string>

namespace tegula {

namespace tools {
struct GivenBlocks;
}

/// The program, problem and shape to tune. `problem.backward` is true for a backward program.
struct TuningTask {
  /// If the problem has a variant, its class (problemClass) must be that of a variant that `tegula attention --variant`
  /// names. Candidates are compiled, checked and timed with the named variant. The result serves this class alone.
  AttentionProblem problem;
  AttentionShape shape;
  std::string program;         ///< A program that has a search space: "flash2_forward" or "flash2_backward".
  int64_t diagonal_offset = 0; ///< The number that launches pass, if the problem has a diagonal offset.
  std::shared_ptr<const tools::GivenBlocks> blocks =
      {}; ///< The blocks that launches pass, if the block mask is `given`.

  /// Returns the problem with `shape` as its expected lengths.
  AttentionProblem problemOfShape() const;
  /// Returns a result with which a plan of this problem has a schedule.
  TunedConfigurations resultOf(const Schedule &schedule) const;
};

/// Tunes a task in the calling thread. Returns invalid_argument or Unsupported for a task that cannot be tuned. Returns
/// internal if the process that measures does not work at all. A candidate that fails is no error.
Expected<Tuning> tune(const TuningTask &task, const TuningDevice &machine, Compiler &compiler,
                      const TuningOptions &options = {});

} // namespace tegula
