// SPDX-License-Identifier: MIT
#pragma once

#include "loading.h"
#include "runs.h"
#include "tegula/plan_run.h"
#include "workload/plan_data.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tegula::tuning {

/// The configurations of one kernel of a described plan.
class PlanRuns final : public Runs {
public:
  /// `cache` must outlive the object. Throws nlohmann::json::exception if the request is malformed.
  PlanRuns(const Json &open, std::shared_ptr<Device> device, KernelCache &cache);

  Status take(const Json &request, std::string_view bytes) override;
  Status load(size_t id, const Json &request) override;
  Status loaded(size_t id) override { return plans_.get(id).status(); }
  Status prepare(size_t id) override;
  Expected<Verdict> check(size_t id) override;
  Status makeRoomFor(size_t id) override;
  Status launch(size_t id) override;

private:
  /// Makes tensors for a purpose, "check" or "time".
  Expected<tools::PlanData> makeData(size_t id, const std::string &purpose) const;

  PlanInputs timed_, checked_;
  double tolerance_ = 0;
  std::shared_ptr<Device> device_;
  KernelCache &cache_;
  std::map<std::string, std::map<std::string, std::string>> inputs_; ///< Bytes, by purpose and name.
  std::vector<HostTensor> expected_;
  std::map<size_t, PlanSpec> specs_;
  Loading<Plan> plans_;

  std::optional<tools::PlanData> check_data_;
  std::vector<tools::PlanData> rotation_;
  size_t next_ = 0; ///< The number of launches so far, which selects a copy in rotation_.
};

} // namespace tegula::tuning
