// SPDX-License-Identifier: MIT
// A program of attention, as a search sees it.
#pragma once

#include "planned_subject.h"
#include "tegula/tuner.h"
#include "workload/attention_check.h"
#include "workload/attention_data.h"

#include <functional>
#include <optional>

namespace tegula::tuning {

class AttentionSubject final : public PlannedSubject<AttentionPlan, tools::AttentionData> {
public:
  /// Returns invalid_argument or unsupported for a task that cannot be tuned.
  static Expected<AttentionSubject> make(const TuningTask &task, const TuningDevice &machine);

  Expected<std::vector<Candidate>> candidates(int most) const override;
  Expected<Candidate> candidateOf(const Configuration &given) const override;
  Status prepare(KernelCache &cache, Compiler &compiler, const TuningOptions &options) override;

private:
  AttentionSubject(TuningTask task, const TuningDevice &machine);

  Expected<std::shared_ptr<Kernel>> kernelOf(const Candidate &candidate, KernelCache &cache) const override;
  Expected<AttentionPlan> planOf(const Candidate &candidate, KernelCache &cache) const override;
  Expected<tools::AttentionData> makeData(Purpose purpose, const AttentionPlan &plan,
                                          const std::shared_ptr<Device> &device) override;
  Expected<Verdict> check(const AttentionPlan &plan, const tools::AttentionData &data) const override;
  Status launch(const AttentionPlan &plan, const tools::AttentionData &data) const override;

  tools::AttentionCase caseOf(Purpose purpose) const;
  /// Computes the reference for the inputs in `data`, in other threads. Returns cancelled if the caller stopped it.
  Status computeReference(const tools::AttentionData &data);

  TuningTask task_;                    ///< Its variant is one that has a reference, of the class that was asked for.
  const tools::NamedVariant *variant_; ///< The same variant; null for plain attention.
  uint64_t seed_ = 0;
  std::function<bool()> stopped_;
  std::optional<tools::AttentionReference> reference_;
};

} // namespace tegula::tuning
