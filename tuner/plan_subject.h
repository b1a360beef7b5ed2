// SPDX-License-Identifier: MIT
// A kernel of a described plan, as a search sees it.
#pragma once

#include "plan_messages.h"
#include "subject.h"
#include "tegula/plan_tuner.h"

#include <string>
#include <vector>

namespace tegula::tuning {

/// Returns the kernel that a task names; null if the plan has no such kernel, or several and none is named.
const KernelSpec *tunedKernel(const PlanTask &task);

/// Returns what tells the programs of a kernel apart; nothing if it has only one.
std::vector<ProgramIdentity> programsOf(const KernelSpec &kernel);

class PlanSubject final : public Subject {
public:
  /// Computes what candidates are compared with. Returns the errors of Plan::make and of running the plan, and
  /// cancelled if TuningOptions::stopped asks for it between two steps. `task` and `machine` must outlive the object.
  static Expected<PlanSubject> make(const PlanTask &task, const TuningDevice &machine, Compiler &compiler,
                                    const TuningOptions &options);

  Expected<std::vector<Candidate>> candidates(int most) const override;
  Expected<Candidate> candidateOf(const Configuration &given) const override;
  Expected<std::vector<CompiledProgram>> compile(const Candidate &candidate, Compiler &compiler) const override;
  Expected<std::vector<CompiledProgram>> compileOthers(Compiler &compiler) const override;
  Json opening() const override;
  std::vector<std::string> description() const override { return messages_; }
  Json loading(const Candidate &candidate) const override;

  const KernelSpec &kernel() const { return task_->plan.kernels()[kernel_]; }

private:
  PlanSubject(const PlanTask &task, const TuningDevice &machine, size_t kernel)
      : task_(&task), machine_(&machine), kernel_(kernel) {}

  const PlanTask *task_;
  const TuningDevice *machine_;
  size_t kernel_;                             ///< Index of the kernel that is tuned.
  std::vector<Configuration> configurations_; ///< One for each kernel, without tuning.
  Sizes checked_;
  std::vector<std::string> messages_; ///< The inputs that the user fills, and the right outputs.
};

} // namespace tegula::tuning
