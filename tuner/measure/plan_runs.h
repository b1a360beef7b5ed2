// SPDX-License-Identifier: MIT
#pragma once

#include "planned_runs.h"
#include "tegula/plan_run.h"
#include "workload/plan_data.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tegula::tuning {

/// The configurations of one kernel of a described plan.
class PlanRuns final : public PlannedRuns<Plan, tools::PlanData> {
public:
  /// `cache` must outlive the object. Throws nlohmann::json::exception if the request is malformed.
  PlanRuns(const Json &open, std::shared_ptr<Device> device, KernelCache &cache);

  Status take(const Json &request, std::string_view bytes) override;
  Status load(size_t id, const Json &request) override;
  Status prepare(size_t id) override;
  Expected<Verdict> check(size_t id) override;

private:
  Expected<tools::PlanData> makeTimed(size_t id) override { return makeData(id, "time"); }
  Status launch(const Plan &plan, const tools::PlanData &data) override { return data.launch(plan); }
  /// Makes tensors for a purpose, "check" or "time".
  Expected<tools::PlanData> makeData(size_t id, const std::string &purpose) const;

  PlanInputs timed_, checked_;
  double tolerance_ = 0;
  std::map<std::string, std::map<std::string, std::string>> inputs_; ///< Bytes, by purpose and name.
  std::vector<HostTensor> expected_;
  std::map<size_t, PlanSpec> specs_;
};

} // namespace tegula::tuning
