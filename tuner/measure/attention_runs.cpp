// SPDX-License-Identifier: MIT
#include "attention_runs.h"

#include "workload/named_variants.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tegula::tuning {
namespace {

// Lengths of the check. Every candidate has several blocks, of which the last one is partial, and more than one head.
constexpr int64_t kCheckedQueries = 531, kCheckedKeys = 597;
// The number of positions that the check has beyond the reach of a band: more than the largest block.
constexpr int64_t kCheckedBeyondBand = 275;

/// Returns how far the widest band reaches: shorter sequences do not show where it ends.
int64_t reachOf(const Variant &variant) {
  std::vector<Band> bands = variant.bands;
  for (const KeySet &set : variant.any_of)
    bands.insert(bands.end(), set.bands.begin(), set.bands.end());
  int64_t reach = 0;
  for (const Band &band : bands)
    reach = std::max({reach, band.left.value_or(0), band.right.value_or(0)});
  return reach;
}

AttentionShape checkedShape(const TuningTask &task) {
  const AttentionShape &shape = task.shape;
  const int64_t group = std::min<int64_t>(2, shape.heads / shape.kv_heads), reach = reachOf(task.problem.variant);
  return {.batch = 1,
          .heads = 2,
          .kv_heads = 2 / group,
          .seqlen_q = std::min(shape.seqlen_q, std::max(kCheckedQueries, reach + kCheckedBeyondBand)),
          .seqlen_k = std::min(shape.seqlen_k, std::max(kCheckedKeys, reach + kCheckedBeyondBand))};
}

double largestRatio(const tools::AttentionErrors &errors) {
  double largest = 0;
  for (const auto *list : {&errors.forward, &errors.backward})
    for (const tools::TensorError &tensor : *list)
      largest = std::isnan(tensor.ratio()) ? tensor.ratio() : std::max(largest, tensor.ratio());
  return largest;
}

} // namespace

AttentionRuns::AttentionRuns(const Json &open, std::shared_ptr<Device> device, KernelCache &cache)
    : PlannedRuns(std::move(device), cache), task_(taskOf(open.at("task"))),
      variant_(tools::findVariant(task_.problem.variant.name)), seed_(open.at("seed")) {}

Status AttentionRuns::take(const Json &, std::string_view) {
  return {ErrorCode::invalid_argument, "attention makes its tensors itself"};
}

Status AttentionRuns::load(size_t id, const Json &request) {
  Expected<Schedule> schedule = parseSchedule(request.at("schedule").get<std::string>());
  if (schedule)
    start(id, [task = task_, schedule = *schedule, &cache = cache_] {
      const TunedConfigurations tuned = task.resultOf(schedule);
      return AttentionPlan::make(task.problemOfShape(), cache, {}, &tuned);
    });
  return schedule.status();
}

tools::AttentionCase AttentionRuns::caseOf(const AttentionShape &shape,
                                           void (*set_variant)(tools::AttentionCase &,
                                                               const tools::NamedVariant &)) const {
  tools::AttentionCase attention{.problem = task_.problem,
                                 .shape = shape,
                                 .scale = float(1 / std::sqrt(double(task_.problem.head_dim))),
                                 .seed = seed_,
                                 .diagonal_offset = task_.diagonal_offset};
  if (task_.blocks)
    attention.blocks = std::make_shared<tools::GivenBlocks>(task_.blocks->cropped(shape));
  if (variant_ != nullptr)
    set_variant(attention, *variant_);
  return attention;
}

Status AttentionRuns::prepare(size_t id) {
  tools::AttentionCase attention = caseOf(checkedShape(task_), tools::setVariant);
  Expected<tools::AttentionData> data = tools::AttentionData::make(attention, loadedPlan(id), device_);
  if (!data)
    return data.status();
  Expected<tools::AttentionArrays> inputs = readArrays(*data, task_.problem.backward);
  if (!inputs)
    return inputs.status();
  check_data_ = std::move(*data);
  reference_.emplace(attention, *inputs);
  return {};
}

Expected<Verdict> AttentionRuns::check(size_t id) {
  const AttentionPlan &plan = loadedPlan(id);
  TEGULA_RETURN_IF_ERROR(check_data_->makeRoomFor(plan));
  TEGULA_RETURN_IF_ERROR(check_data_->spoilOutputs());
  TEGULA_RETURN_IF_ERROR(check_data_->clearVariantGradients());
  TEGULA_RETURN_IF_ERROR(check_data_->forward(plan));
  if (task_.problem.backward)
    TEGULA_RETURN_IF_ERROR(check_data_->backward(plan));
  TEGULA_RETURN_IF_ERROR(device_->synchronize());
  Expected<tools::AttentionArrays> arrays = readArrays(*check_data_, task_.problem.backward);
  if (!arrays)
    return arrays.status();
  const tools::AttentionErrors errors = reference_->errors(*arrays);
  return Verdict{largestRatio(errors), verdict(errors)};
}

Expected<tools::AttentionData> AttentionRuns::makeTimed(size_t id) {
  tools::AttentionCase attention = caseOf(task_.shape, tools::setMeasuredVariant);
  Expected<tools::AttentionData> data = tools::AttentionData::make(attention, loadedPlan(id), device_);
  if (data)
    TEGULA_RETURN_IF_ERROR(data->forward(loadedPlan(id))); // The backward pass reads what it writes.
  return data;
}

Status AttentionRuns::launch(const AttentionPlan &plan, const tools::AttentionData &data) {
  return task_.problem.backward ? data.backward(plan) : data.forward(plan);
}

} // namespace tegula::tuning
