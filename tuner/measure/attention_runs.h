// SPDX-License-Identifier: MIT
#pragma once

#include "planned_runs.h"
#include "workload/attention_check.h"
#include "workload/attention_data.h"

#include <memory>
#include <optional>

namespace tegula::tuning {

/// The schedules of one program of attention.
class AttentionRuns final : public PlannedRuns<AttentionPlan, tools::AttentionData> {
public:
  /// `cache` must outlive the object. Throws nlohmann::json::exception if the request is malformed.
  AttentionRuns(const Json &open, std::shared_ptr<Device> device, KernelCache &cache);

  Status take(const Json &request, std::string_view bytes) override;
  Status load(size_t id, const Json &request) override;
  Status prepare(size_t id) override;
  Expected<Verdict> check(size_t id) override;

private:
  Expected<tools::AttentionData> makeTimed(size_t id) override;
  Status launch(const AttentionPlan &plan, const tools::AttentionData &data) override;
  /// Makes the task's problem at a shape; `set_variant` says what the tensors of its variant hold.
  tools::AttentionCase caseOf(const AttentionShape &shape,
                              void (*set_variant)(tools::AttentionCase &, const tools::NamedVariant &)) const;

  TuningTask task_;
  const tools::NamedVariant *variant_ = nullptr; ///< The task's variant; null for plain attention.
  uint64_t seed_ = 0;
  std::optional<tools::AttentionReference> reference_;
};

} // namespace tegula::tuning
