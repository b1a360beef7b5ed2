// SPDX-License-Identifier: MIT
#include "attention_runs.h"

#include "caches.h"
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
    : task_(taskOf(open.at("task"))), variant_(tools::findVariant(task_.problem.variant.name)), seed_(open.at("seed")),
      device_(std::move(device)), cache_(cache) {}

Status AttentionRuns::take(const Json &, std::string_view) {
  return {ErrorCode::invalid_argument, "attention makes its tensors itself"};
}

Status AttentionRuns::load(size_t id, const Json &request) {
  Expected<Schedule> schedule = parseSchedule(request.at("schedule").get<std::string>());
  if (schedule)
    plans_.start(id, [this, schedule = *schedule] { return makePlan(schedule); });
  return schedule.status();
}

Expected<AttentionPlan> AttentionRuns::makePlan(const Schedule &schedule) {
  TunedSchedules tuned;
  tuned.add({task_.program, problemClass(task_.problem), shapeClass(task_.shape), schedule});
  return AttentionPlan::make(task_.problemOfShape(), cache_, {}, &tuned);
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
  Expected<tools::AttentionData> data = tools::AttentionData::make(attention, *plans_.get(id), device_);
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
  const AttentionPlan &plan = *plans_.get(id);
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

Status AttentionRuns::makeRotation(const AttentionPlan &plan) {
  tools::AttentionCase attention = caseOf(task_.shape, tools::setMeasuredVariant);
  std::vector<tools::AttentionData> rotation;
  int64_t copies = 2;
  for (int64_t n = 0; n < copies; ++n) {
    Expected<tools::AttentionData> data = tools::AttentionData::make(attention, plan, device_);
    if (!data)
      return data.status();
    TEGULA_RETURN_IF_ERROR(data->forward(plan)); // The backward pass reads what it writes.
    copies = copiesFor(cacheBytes(device_->target().name), data->bytes());
    rotation.push_back(std::move(*data));
  }
  TEGULA_RETURN_IF_ERROR(device_->synchronize());
  rotation_ = std::move(rotation);
  return {};
}

Status AttentionRuns::makeRoomFor(size_t id) {
  const AttentionPlan &plan = *plans_.get(id);
  if (rotation_.empty())
    TEGULA_RETURN_IF_ERROR(makeRotation(plan));
  for (tools::AttentionData &data : rotation_)
    TEGULA_RETURN_IF_ERROR(data.makeRoomFor(plan));
  return {};
}

Status AttentionRuns::launch(size_t id) {
  const tools::AttentionData &data = rotation_[next_++ % rotation_.size()];
  return task_.problem.backward ? data.backward(*plans_.get(id)) : data.forward(*plans_.get(id));
}

} // namespace tegula::tuning
