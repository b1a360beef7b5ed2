// SPDX-License-Identifier: MIT
#include "workload/packed_intervals.h"

#include "tegula/packed.h"

#include <span>
#include <utility>

namespace tegula::tools {
namespace {

constexpr int32_t kUnbounded = -1;

/// Returns a tensor [1, positions] as [positions].
TensorRef positionsOf(const DeviceTensor &tensor) { return contiguous(tensor.view.data, i32, {tensor.view.shape[1]}); }

} // namespace

Expected<PackedIntervals> PackedIntervals::make(const AttentionCase &attention, Device &device, KernelCache &cache) {
  const PackedSequences &sequences = *attention.packed;
  const auto count = int64_t(sequences.offsets_q.size()) - 1;
  Expected<PlanSpec> spec =
      attention.pages ? packedPages({.page_size = attention.problem.page_size}) : packedIntervals();
  if (!spec)
    return spec.status();
  Expected<Plan> plan = Plan::make(*spec, cache);
  if (!plan)
    return plan.status();
  Expected<int64_t> bytes = plan->workspaceBytes(attention.pages ? Sizes{{"sequences", count}} : Sizes());
  if (!bytes)
    return bytes.status();
  PackedIntervals made(std::move(*plan), attention.pages != nullptr, sequences.causal == Causal::none ? kUnbounded : 0);
  if (const CacheLayout *pages = attention.pages.get()) {
    TEGULA_RETURN_IF_ERROR(made.addInput(device, lengthsOf(sequences.offsets_k), {count}));
    TEGULA_RETURN_IF_ERROR(made.addInput(device, pages->table(), {count, pages->pagesOfSequence()}));
  }
  TEGULA_RETURN_IF_ERROR(made.addInput(device, sequences.offsets_q, {count + 1}));
  if (!attention.pages)
    TEGULA_RETURN_IF_ERROR(made.addInput(device, sequences.offsets_k, {count + 1}));
  Expected<Buffer> workspace = device.allocate(*bytes);
  if (!workspace)
    return workspace.status();
  made.workspace_ = std::move(*workspace);
  return made;
}

Status PackedIntervals::addInput(Device &device, const std::vector<int32_t> &numbers,
                                 const std::vector<int64_t> &shape) {
  Expected<DeviceTensor> tensor = allocateTensor(device, i32, shape);
  if (!tensor)
    return tensor.status();
  TEGULA_RETURN_IF_ERROR(upload(device, std::span(numbers), *tensor));
  inputs_.push_back(std::move(*tensor));
  return {};
}

Status PackedIntervals::launch(const AttentionTensors &tensors) const {
  std::vector<Argument> arguments;
  for (const DeviceTensor &input : inputs_)
    arguments.emplace_back(input.view);
  arguments.emplace_back(kUnbounded);
  arguments.emplace_back(right_);
  for (const DeviceTensor &bounds : std::span(tensors.variant).first(has_pages_ ? 2 : 4))
    arguments.emplace_back(positionsOf(bounds));
  if (has_pages_) {
    arguments.emplace_back(tensors.page_table.view);
    arguments.emplace_back(tensors.page_lengths.view);
  }
  return plan_.launch(arguments, {workspace_.data(), workspace_.bytes()});
}

} // namespace tegula::tools
