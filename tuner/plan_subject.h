// SPDX-License-Identifier: MIT
// A kernel of a described plan, as a search sees it.
#pragma once

#include "planned_subject.h"
#include "tegula/plan_tuner.h"
#include "workload/plan_data.h"

#include <map>
#include <string>
#include <vector>

namespace tegula::tuning {

class PlanSubject final : public PlannedSubject<Plan, tools::PlanData> {
public:
  /// Returns the errors of Plan::make, as far as they show without compiling. `task` must outlive the object.
  static Expected<PlanSubject> make(const PlanTask &task, const TuningDevice &machine);

  Expected<std::vector<Candidate>> candidates(int most) const override;
  Expected<Candidate> candidateOf(const Configuration &given) const override;
  /// Computes the right outputs and the inputs that the user fills, and compiles the other kernels of the plan.
  Status prepare(KernelCache &cache, Compiler &compiler, const TuningOptions &options) override;

  /// Returns what a search of the fastest program alone would find, for hosts that have no other.
  Expected<std::vector<Tuning>> implied(const Tuning &tuning) const override;

private:
  /// The inputs of a run, and those tensors that the user fills, as bytes.
  struct Run {
    PlanInputs inputs;
    std::map<std::string, std::vector<char>> filled = {};
  };

  PlanSubject(Tuning about, const PlanTask &task, size_t kernel)
      : PlannedSubject(std::move(about)), task_(&task), kernel_(kernel) {}

  Expected<std::shared_ptr<Kernel>> kernelOf(const Candidate &candidate, KernelCache &cache) const override;
  Expected<Plan> planOf(const Candidate &candidate, KernelCache &cache) const override;
  Expected<tools::PlanData> makeData(Purpose purpose, const Plan &plan, const std::shared_ptr<Device> &device) override;
  Expected<Verdict> check(const Plan &plan, const tools::PlanData &data) const override;
  Status launch(const Plan &plan, const tools::PlanData &data) const override { return data.launch(plan); }

  Status fill(Run &run, const TuningOptions &options) const;
  const KernelSpec &kernel() const { return task_->plan.kernels()[kernel_]; }

  const PlanTask *task_;
  size_t kernel_;                             ///< Index of the kernel that is tuned.
  std::vector<Configuration> configurations_; ///< One for each kernel, without tuning.
  Run checked_, timed_;
  std::vector<HostTensor> expected_; ///< The right outputs of checks.
};

} // namespace tegula::tuning
