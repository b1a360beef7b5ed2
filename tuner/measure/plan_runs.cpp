// SPDX-License-Identifier: MIT
#include "plan_runs.h"

#include "messages.h"
#include "tegula/output_check.h"

#include <utility>

namespace tegula::tuning {

PlanRuns::PlanRuns(const Json &open, std::shared_ptr<Device> device, KernelCache &cache)
    : PlannedRuns(std::move(device), cache) {
  const Json &plan = open.at("plan");
  timed_ = {.sizes = sizesOf(plan.at("sizes")), .scalars = scalarsOf(plan.at("scalars")), .seed = open.at("seed")};
  checked_ = timed_;
  checked_.sizes = sizesOf(plan.at("checked"));
  tolerance_ = plan.at("tolerance");
}

Status PlanRuns::take(const Json &request, std::string_view bytes) {
  const std::string name = request.at("name");
  if (request.at("do") == "tensor")
    inputs_[request.at("purpose")][name] = bytes;
  else
    expected_.push_back({.name = name, .values = valuesOf(bytes)});
  return {};
}

Status PlanRuns::load(size_t id, const Json &request) {
  const auto [entry, isNew] = specs_.insert_or_assign(id, planOf(request.at("plan")));
  start(id, [spec = entry->second, &cache = cache_] { return Plan::make(spec, cache); });
  return {};
}

Expected<tools::PlanData> PlanRuns::makeData(size_t id, const std::string &purpose) const {
  Expected<tools::PlanData> data =
      tools::PlanData::make(specs_.at(id), purpose == "check" ? checked_ : timed_, device_);
  const auto given = inputs_.find(purpose);
  if (!data || given == inputs_.end())
    return data;
  for (const auto &[name, bytes] : given->second)
    TEGULA_RETURN_IF_ERROR(data->setInput(name, bytes));
  return data;
}

Status PlanRuns::prepare(size_t id) {
  Expected<tools::PlanData> data = makeData(id, "check");
  if (data)
    check_data_ = std::move(*data);
  return data.status();
}

Expected<Verdict> PlanRuns::check(size_t id) {
  const Plan &plan = loadedPlan(id);
  TEGULA_RETURN_IF_ERROR(check_data_->makeRoomFor(plan));
  TEGULA_RETURN_IF_ERROR(check_data_->reset());
  TEGULA_RETURN_IF_ERROR(check_data_->launch(plan));
  Expected<std::vector<HostTensor>> outputs = check_data_->outputs();
  if (!outputs)
    return outputs.status();
  const std::vector<OutputError> errors = compareOutputs(*outputs, expected_);
  return Verdict{largestError(errors) / tolerance_, verdict(errors, tolerance_)};
}

} // namespace tegula::tuning
