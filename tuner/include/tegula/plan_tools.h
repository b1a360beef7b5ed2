// SPDX-License-Identifier: MIT
// One call each for what attention's commands do, for any plan: tune and remember, run under many orders of lanes,
// compare two configurations.
#pragma once

#include "tegula/exploration.h"
#include "tegula/output_check.h"
#include "tegula/plan_tuner.h"
#include "tegula/tune_once.h"

#include <memory>
#include <vector>

namespace tegula {

/// Computes the right outputs of a task at its checked sizes: with its reference, or with the plan on the cores of this
/// machine, without tuning.
Expected<std::vector<HostTensor>> rightOutputs(const PlanTask &task, Compiler &compiler);

/// Runs a plan once at the sizes of the task's inputs, and returns what it computes.
Expected<std::vector<HostTensor>> runOnce(const PlanTask &task, const PlanOptions &options, Compiler &compiler,
                                          std::shared_ptr<Device> device);

/// Runs two configurations of a plan on the same inputs, at the sizes of the task's inputs, and compares their outputs.
Expected<std::vector<OutputError>> compare(const PlanTask &task, const PlanOptions &first, const PlanOptions &second,
                                           Compiler &compiler, std::shared_ptr<Device> device);

/// The report of a plan on the simt device.
struct PlanExploration : Exploration {
  std::vector<OutputError> errors; ///< Errors of the first interleaving, at the sizes of the task's inputs.
};

/// Runs a plan under many orders of lanes, and with mutants, at the sizes of the task's inputs. The outputs of the
/// first order are compared with the right ones. Mutants that these sizes do not show are tried at other sizes, too,
/// and with rows that do not start at multiples of 16 bytes. A plan whose kernels are only right at some sizes says so
/// with PlanSpec::require(). Launches that the plan refuses are in Exploration::left_out.
Expected<PlanExploration> explore(const PlanTask &task, const PlanOptions &options, Compiler &compiler,
                                  const std::shared_ptr<SimtDevice> &device, const ExplorationOptions &how);

} // namespace tegula
