// SPDX-License-Identifier: MIT
// A kernel of a described plan, as a search sees it.
#pragma once

#include "subject.h"
#include "tegula/plan_tuner.h"

#include <string>
#include <vector>

namespace tegula::tuning {

class PlanSubject final : public Subject {
public:
  /// Returns the errors of Plan::make, as far as they show without compiling. `task` must outlive the object.
  static Expected<PlanSubject> make(const PlanTask &task, const TuningDevice &machine);

  Expected<std::vector<Candidate>> candidates(int most) const override;
  Expected<Candidate> candidateOf(const Configuration &given) const override;
  Status prepare(Compiler &compiler, const TuningOptions &options) override;
  Expected<std::vector<CompiledProgram>> compile(const Candidate &candidate, Compiler &compiler) const override;
  Expected<std::vector<CompiledProgram>> compileOthers(Compiler &compiler) const override;
  Json opening() const override;
  std::vector<std::string> description() const override { return messages_; }
  Json loading(const Candidate &candidate) const override;

  /// Returns what a search of the fastest program alone would find, for hosts that have no other.
  Expected<std::vector<Tuning>> implied(const Tuning &tuning) const override;

private:
  PlanSubject(Tuning about, const PlanTask &task, size_t kernel)
      : Subject(std::move(about)), task_(&task), kernel_(kernel) {}

  const KernelSpec &kernel() const { return task_->plan.kernels()[kernel_]; }

  const PlanTask *task_;
  size_t kernel_;                             ///< Index of the kernel that is tuned.
  std::vector<Configuration> configurations_; ///< One for each kernel, without tuning.
  Sizes checked_;
  std::vector<std::string> messages_; ///< The inputs that the user fills, and the right outputs.
};

} // namespace tegula::tuning
