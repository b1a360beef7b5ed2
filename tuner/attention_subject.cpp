// SPDX-License-Identifier: MIT
#include "attention_subject.h"

#include "model.h"
#include "task_json.h"
#include "tegula/tuned_schedules.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tegula::tuning {
namespace {

/// The time between two questions whether to stop.
constexpr std::chrono::milliseconds kMomentToAsk{50};

// Lengths of the check. Every candidate has several blocks, of which the last one is partial, and more than one head.
constexpr int64_t kCheckedQueries = 531, kCheckedKeys = 597;
// The number of positions that the check has beyond the reach of a band: more than the largest block.
constexpr int64_t kCheckedBeyondBand = 275;

bool hasProgram(const AttentionProblem &problem, std::string_view program) {
  return std::ranges::count(programsOf(problem), program) != 0;
}

Status checkTask(const TuningTask &task) {
  const AttentionShape &shape = task.shape;
  if (!hasProgram(task.problem, task.program))
    return {ErrorCode::invalid_argument, fmt::format("the problem has no program '{}'", task.program)};
  if (task.problem.page_size != 0)
    return {ErrorCode::unsupported, "problems with pages cannot be tuned; set page_size to 0"};
  AttentionProblem forward = task.problem;
  forward.backward = false;
  if (task.problem.backward && hasProgram(forward, task.program))
    return {ErrorCode::invalid_argument,
            fmt::format("'{}' belongs to the forward pass, and is tuned without a backward one", task.program)};
  for (int64_t size : {shape.batch, shape.heads, shape.kv_heads, shape.seqlen_q, shape.seqlen_k})
    if (size < 1)
      return {ErrorCode::invalid_argument, "an empty shape cannot be tuned; every size must be 1 or more"};
  if (shape.heads % shape.kv_heads != 0)
    return {ErrorCode::invalid_argument,
            fmt::format("{} kv_heads do not divide the {} heads of q", shape.kv_heads, shape.heads)};
  return {};
}

/// Returns the task with the variant of its class that has a reference.
Expected<TuningTask> measurable(TuningTask task) {
  const std::string wanted = problemClass(task.problem), name = task.problem.variant.name;
  task.problem.variant = {};
  if (problemClass(task.problem) == wanted)
    return task;
  for (const tools::NamedVariant &variant : tools::namedVariants()) {
    task.problem.variant = variant.make(task.problem);
    if (problemClass(task.problem) == wanted)
      return task;
  }
  return Status(ErrorCode::unsupported,
                fmt::format("the variant '{}' cannot be tuned, because there is no reference to check candidates with; "
                            "there is one for {}, with the parameters of `tegula attention --variant`",
                            name, fmt::join(tools::variantNames(), ", ")));
}

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

AttentionSubject::AttentionSubject(TuningTask task, const TuningDevice &machine)
    : PlannedSubject({.kernel = task.program,
                      .kernel_class = problemClass(task.problemOfShape()),
                      .sizes = attentionSizes(task.shape),
                      .task = toJson(task).dump(),
                      .machine = machine}),
      task_(std::move(task)), variant_(tools::findVariant(task_.problem.variant.name)) {}

Expected<AttentionSubject> AttentionSubject::make(const TuningTask &task, const TuningDevice &machine) {
  TEGULA_RETURN_IF_ERROR(checkTask(task));
  Expected<TuningTask> named = measurable(task);
  return named ? Expected<AttentionSubject>(AttentionSubject(std::move(*named), machine)) : named.status();
}

Expected<std::vector<Candidate>> AttentionSubject::candidates(int most) const {
  return candidatesOf(task_, about().machine, most);
}

Expected<Candidate> AttentionSubject::candidateOf(const Configuration &given) const {
  const Expected<KernelConfig> config = resolve(task_.problemOfShape(), task_.program, target(), given.schedule);
  return config ? Expected<Candidate>(Candidate{.schedule = config->schedule}) : config.status();
}

Status AttentionSubject::prepare(KernelCache &, Compiler &, const TuningOptions &options) {
  seed_ = options.seed;
  stopped_ = options.stopped;
  return {};
}

Expected<std::shared_ptr<Kernel>> AttentionSubject::kernelOf(const Candidate &candidate, KernelCache &cache) const {
  const TunedConfigurations tuned = task_.resultOf(candidate.schedule);
  Expected<RecordedKernel> kernel = recordKernel(task_.problemOfShape(), task_.program, target(), {}, &tuned);
  return kernel ? cache.get(kernel->program.text, kernel->schedule) : kernel.status();
}

Expected<AttentionPlan> AttentionSubject::planOf(const Candidate &candidate, KernelCache &cache) const {
  const TunedConfigurations tuned = task_.resultOf(candidate.schedule);
  return AttentionPlan::make(task_.problemOfShape(), cache, {}, &tuned);
}

tools::AttentionCase AttentionSubject::caseOf(Purpose purpose) const {
  tools::AttentionCase attention{.problem = task_.problem,
                                 .shape = purpose == Purpose::check ? checkedShape(task_) : task_.shape,
                                 .scale = float(1 / std::sqrt(double(task_.problem.head_dim))),
                                 .seed = seed_,
                                 .diagonal_offset = task_.diagonal_offset};
  if (task_.blocks)
    attention.blocks = std::make_shared<tools::GivenBlocks>(task_.blocks->cropped(attention.shape));
  if (variant_ != nullptr)
    (purpose == Purpose::check ? tools::setVariant : tools::setMeasuredVariant)(attention, *variant_);
  return attention;
}

Expected<tools::AttentionData> AttentionSubject::makeData(Purpose purpose, const AttentionPlan &plan,
                                                          const std::shared_ptr<Device> &device) {
  Expected<tools::AttentionData> data = tools::AttentionData::make(caseOf(purpose), plan, device);
  if (data && purpose == Purpose::time)
    TEGULA_RETURN_IF_ERROR(data->forward(plan)); // The backward pass reads what it writes.
  if (data && purpose == Purpose::check && !reference_)
    TEGULA_RETURN_IF_ERROR(computeReference(*data));
  return data;
}

Status AttentionSubject::computeReference(const tools::AttentionData &data) {
  Expected<tools::AttentionArrays> inputs = readArrays(data, task_.problem.backward);
  if (!inputs)
    return inputs.status();
  const auto abandoned = std::make_shared<std::atomic<bool>>(false);
  tools::AttentionCase attention = data.attention();
  attention.abandoned = abandoned;
  std::future<tools::AttentionReference> reference =
      std::async(std::launch::async, [&] { return tools::AttentionReference(attention, *inputs); });
  while (reference.wait_for(kMomentToAsk) != std::future_status::ready)
    *abandoned = *abandoned || (stopped_ && stopped_());
  if (*abandoned)
    return {ErrorCode::cancelled, "the search was stopped"};
  reference_ = reference.get();
  return {};
}

Expected<Verdict> AttentionSubject::check(const AttentionPlan &plan, const tools::AttentionData &data) const {
  TEGULA_RETURN_IF_ERROR(data.spoilOutputs());
  TEGULA_RETURN_IF_ERROR(data.clearVariantGradients());
  TEGULA_RETURN_IF_ERROR(data.forward(plan));
  if (task_.problem.backward)
    TEGULA_RETURN_IF_ERROR(data.backward(plan));
  TEGULA_RETURN_IF_ERROR(data.device().synchronize());
  Expected<tools::AttentionArrays> arrays = readArrays(data, task_.problem.backward);
  if (!arrays)
    return arrays.status();
  const tools::AttentionErrors errors = reference_->errors(*arrays);
  return Verdict{largestRatio(errors), verdict(errors)};
}

Status AttentionSubject::launch(const AttentionPlan &plan, const tools::AttentionData &data) const {
  return task_.problem.backward ? data.backward(plan) : data.forward(plan);
}

} // namespace tegula::tuning
