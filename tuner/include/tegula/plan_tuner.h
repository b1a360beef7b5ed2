// SPDX-License-Identifier: MIT
// The autotuner of described kernels: measures the configurations of one kernel of a plan, and returns the fastest.
//
//   PlanTask task{.plan = spec, .inputs = {.sizes = {{"m", 4096}, {"n", 4096}, {"k", 4096}}}};
//   Expected<Tuning> tuning = tune(task, *machine, *compiler, {.budget_seconds = 20});
//
// Candidates are compared with a reference of the user's, or with what the plan computes on the cores of this machine
// without tuning.
#pragma once

#include "tegula/plan_run.h"
#include "tegula/search.h"

#include <string>

namespace tegula {

/// The kernel to tune, and how to run its plan.
struct PlanTask {
  PlanSpec plan;
  PlanInputs inputs;
  std::string kernel = {}; ///< May be empty if the plan has one kernel.
  /// The sizes at which candidates are checked. If there are none, they are those of `inputs`, but lengths above 512
  /// are 397.
  Sizes checked = {};
  Reference reference = {}; ///< If empty, results on the cores of this machine are the reference.
  /// The error that an output may have, divided by the largest number of the output. 0 stands for usualTolerance().
  double tolerance = 0;
  /// Configurations of the other kernels.
  std::vector<GivenConfiguration> others = {};
};

/// Returns the error that rounding explains: 2^-3 if a tensor of the plan has e4m3 elements, 2^-7 with bf16, 2^-10 with
/// f16 or if a product rounds its operands to tf32, and 2^-16 otherwise.
double usualTolerance(const PlanSpec &plan);

/// Tunes a kernel in the calling thread. With TuningOptions::given, times these configurations only. Returns the errors
/// of Plan::make for a task that cannot be run, and internal if the process that measures does not work at all. A
/// candidate that fails is no error.
Expected<Tuning> tune(const PlanTask &task, const TuningDevice &machine, Compiler &compiler,
                      const TuningOptions &options = {});

} // namespace tegula
