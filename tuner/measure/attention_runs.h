// SPDX-License-Identifier: MIT
#pragma once

#include "loading.h"
#include "runs.h"
#include "workload/attention_check.h"
#include "workload/attention_data.h"

#include <memory>
#include <optional>
#include <vector>

namespace tegula::tuning {

/// The schedules of one program of attention.
class AttentionRuns final : public Runs {
public:
  /// `cache` must outlive the object. Throws nlohmann::json::exception if the request is malformed.
  AttentionRuns(const Json &open, std::shared_ptr<Device> device, KernelCache &cache);

  Status take(const Json &request, std::string_view bytes) override;
  Status load(size_t id, const Json &request) override;
  Status loaded(size_t id) override { return plans_.get(id).status(); }
  Status prepare(size_t id) override;
  Expected<Verdict> check(size_t id) override;
  Status makeRoomFor(size_t id) override;
  Status launch(size_t id) override;

private:
  Expected<AttentionPlan> makePlan(const Schedule &schedule);
  Status makeRotation(const AttentionPlan &plan);
  /// Makes the task's problem at a shape; `set_variant` says what the tensors of its variant hold.
  tools::AttentionCase caseOf(const AttentionShape &shape,
                              void (*set_variant)(tools::AttentionCase &, const tools::NamedVariant &)) const;

  TuningTask task_;
  const tools::NamedVariant *variant_ = nullptr; ///< The task's variant; null for plain attention.
  uint64_t seed_ = 0;
  std::shared_ptr<Device> device_;
  KernelCache &cache_;
  Loading<AttentionPlan> plans_;

  std::optional<tools::AttentionData> check_data_;
  std::optional<tools::AttentionReference> reference_;
  std::vector<tools::AttentionData> rotation_;
  size_t next_ = 0; ///< The number of launches so far, which selects a copy in rotation_.
};

} // namespace tegula::tuning
