// SPDX-License-Identifier: MIT
#include "session.h"

#include "caches.h"
#include "workload/open_device.h"

#include <algorithm>
#include <cmath>

namespace tegula::tuning {
namespace {

// Lengths of the check. Every candidate has several blocks, of which the last one is partial, and more than one head.
constexpr int64_t kCheckedQueries = 531, kCheckedKeys = 597;
// The number of positions that the check has beyond the reach of a band: more than the largest block.
constexpr int64_t kCheckedBeyondBand = 275;

constexpr int64_t kMaxCopies = 64;

/// Returns how far the widest band reaches: shorter sequences do not show where it ends.
int64_t reachOf(const Variant &variant) {
  int64_t reach = 0;
  for (const Band &band : variant.bands)
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

Json toJson(const Status &status) { return status.ok() ? Json::object() : failure(status); }

} // namespace

Json Session::answer(const Json &request, std::string_view bytes) {
  std::string verb = request.at("do");
  if (verb == "open")
    return toJson(open(request));
  if (verb == "kernel") {
    Expected<CompiledProgram> program = kernelOf(request, bytes);
    if (program)
      kernels_.add(std::move(*program));
    return toJson(program.status());
  }
  size_t id = request.at("id");
  if (verb == "load") {
    Expected<Schedule> schedule = parseSchedule(request.at("schedule").get<std::string>());
    if (schedule)
      load(id, *schedule);
    return toJson(schedule.status());
  }
  const Expected<AttentionPlan> &loaded = plans_.at(id).get();
  if (!loaded)
    return failure(loaded.status());
  const AttentionPlan &plan = *loaded;
  if (verb == "prepare")
    return toJson(prepare(plan));
  if (verb == "check") {
    Expected<tools::AttentionErrors> errors = check(plan);
    if (!errors)
      return failure(errors.status());
    Status status = verdict(*errors);
    return {{"error_ratio", largestRatio(*errors)}, {"right", status.ok()}, {"why", status.message()}};
  }
  Expected<std::vector<double>> ms = time(plan, request.at("launches"));
  return ms ? Json{{"ms", *ms}} : failure(ms.status());
}

Status Session::open(const Json &request) {
  task_ = taskOf(request.at("task"));
  variant_ = tools::findVariant(task_.problem.variant.name);
  seed_ = request.at("seed");
  Expected<std::shared_ptr<Device>> device = tools::openDevice(request.at("target").get<std::string>());
  if (!device)
    return device.status();
  device_ = *device;
  cache_.emplace(kernels_, device_);
  return {};
}

void Session::load(size_t id, const Schedule &schedule) {
  plans_[id] = std::async(std::launch::async, [this, schedule] {
    loaders_.acquire();
    Expected<AttentionPlan> plan = makePlan(schedule);
    loaders_.release();
    return plan;
  });
}

Expected<AttentionPlan> Session::makePlan(const Schedule &schedule) {
  TunedSchedules tuned;
  tuned.add({task_.program, problemClass(task_.problem), shapeClass(task_.shape), schedule});
  return AttentionPlan::make(task_.problemOfShape(), *cache_, {}, &tuned);
}

tools::AttentionCase Session::caseOf(const AttentionShape &shape,
                                     void (*set_variant)(tools::AttentionCase &, const tools::NamedVariant &)) const {
  tools::AttentionCase attention{.problem = task_.problem,
                                 .shape = shape,
                                 .scale = float(1 / std::sqrt(double(task_.problem.head_dim))),
                                 .seed = seed_};
  if (variant_ != nullptr)
    set_variant(attention, *variant_);
  return attention;
}

/// Runs the pass that the program belongs to.
Status Session::run(const AttentionPlan &plan, const tools::AttentionData &data) const {
  return task_.problem.backward ? data.backward(plan) : data.forward(plan);
}

Status Session::prepare(const AttentionPlan &plan) {
  tools::AttentionCase attention = caseOf(checkedShape(task_), tools::setVariant);
  Expected<tools::AttentionData> data = tools::AttentionData::make(attention, plan, device_);
  if (!data)
    return data.status();
  Expected<tools::AttentionArrays> inputs = readArrays(*data, task_.problem.backward);
  if (!inputs)
    return inputs.status();
  check_data_ = std::move(*data);
  reference_.emplace(attention, *inputs);
  return {};
}

Expected<tools::AttentionErrors> Session::check(const AttentionPlan &plan) {
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
  return reference_->errors(*arrays);
}

Status Session::makeRotation(const AttentionPlan &plan) {
  tools::AttentionCase attention = caseOf(task_.shape, tools::setMeasuredVariant);
  std::vector<tools::AttentionData> rotation;
  int64_t copies = 2;
  for (int64_t n = 0; n < copies; ++n) {
    Expected<tools::AttentionData> data = tools::AttentionData::make(attention, plan, device_);
    if (!data)
      return data.status();
    TEGULA_RETURN_IF_ERROR(data->forward(plan)); // The backward pass reads what it writes.
    copies = std::clamp<int64_t>(2 * cacheBytes(device_->target().name) / std::max<int64_t>(1, data->bytes()) + 2, 2,
                                 kMaxCopies);
    rotation.push_back(std::move(*data));
  }
  TEGULA_RETURN_IF_ERROR(device_->synchronize());
  rotation_ = std::move(rotation);
  return {};
}

Expected<std::vector<double>> Session::time(const AttentionPlan &plan, int launches) {
  if (rotation_.empty())
    TEGULA_RETURN_IF_ERROR(makeRotation(plan));
  for (tools::AttentionData &data : rotation_)
    TEGULA_RETURN_IF_ERROR(data.makeRoomFor(plan));
  while (timers_.size() < size_t(launches)) {
    Expected<std::unique_ptr<Timer>> timer = device_->makeTimer();
    if (!timer)
      return timer.status();
    timers_.push_back(std::move(*timer));
  }
  // All launches are enqueued before the first wait, so that only the first launch waits for the host.
  for (int n = 0; n < launches; ++n) {
    const tools::AttentionData &data = rotation_[next_++ % rotation_.size()];
    TEGULA_RETURN_IF_ERROR(timers_[size_t(n)]->start());
    TEGULA_RETURN_IF_ERROR(run(plan, data));
    TEGULA_RETURN_IF_ERROR(timers_[size_t(n)]->stop());
  }
  std::vector<double> ms;
  for (int n = 0; n < launches; ++n) {
    Expected<double> one = timers_[size_t(n)]->milliseconds();
    if (!one)
      return one.status();
    ms.push_back(*one);
  }
  return ms;
}

} // namespace tegula::tuning
