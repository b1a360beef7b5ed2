// SPDX-License-Identifier: MIT
#include "workload/attention_data.h"

#include "workload/checked_variant.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tegula::tools {
namespace {

struct Placement {
  DeviceTensor &tensor;
  DType dtype;
  std::vector<int64_t> shape;
  int64_t row_gap = 0;
};

/// Makes room for the tensors of a variant, and appends where they go.
void placeVariant(std::vector<Placement> &placements, AttentionTensors &t, const AttentionCase &attention) {
  const std::vector<VariantTensor> &tensors = attention.problem.variant.tensors;
  t.variant.resize(tensors.size());
  t.variant_gradients.resize(size_t(std::count_if(tensors.begin(), tensors.end(),
                                                  [](const VariantTensor &tensor) { return tensor.wants_gradient; })));
  size_t gradient = 0;
  for (size_t n = 0; n < tensors.size(); ++n) {
    const std::vector<int64_t> shape =
        attention.variant_shapes.empty() ? shapeOf(tensors[n], attention.shape) : attention.variant_shapes[n];
    placements.push_back({t.variant[n], inMemory(tensors[n].dtype), shape});
    if (attention.problem.backward && tensors[n].wants_gradient)
      placements.push_back({t.variant_gradients[gradient++], f32, shape});
  }
}

/// Makes room for the lists of given blocks, and appends where they go.
void placeBlocks(std::vector<Placement> &placements, AttentionTensors &t, const GivenBlocks &blocks) {
  t.blocks.resize(4);
  size_t next = 0;
  for (const GivenBlocks::Lists *lists : {&blocks.partial, &blocks.full}) {
    const std::vector<int64_t> counts = {blocks.batch, blocks.heads, blocks.rows};
    placements.push_back({t.blocks[next++], i32, counts});
    placements.push_back({t.blocks[next++], i32, {counts[0], counts[1], counts[2], arraysOf(*lists).entries}});
  }
}

/// All tensors of a problem, with their types, shapes and gaps between rows.
std::vector<Placement> placements(AttentionTensors &t, const AttentionCase &attention) {
  const AttentionProblem &problem = attention.problem;
  const AttentionShape &s = attention.shape;
  std::vector<int64_t> q = {s.batch, s.heads, s.seqlen_q, problem.head_dim};
  std::vector<int64_t> k = {s.batch, s.kv_heads, s.seqlen_k, problem.head_dim};
  if (attention.pages)
    k = {attention.pages->pages(), s.kv_heads, problem.page_size, problem.head_dim};
  std::vector<int64_t> v = k;
  v.back() = problem.value_dim;
  std::vector<int64_t> o = {s.batch, s.heads, s.seqlen_q, problem.value_dim};
  std::vector<int64_t> lse = {s.batch, s.heads, s.seqlen_q};
  const RowGaps &gaps = attention.row_gaps;
  std::vector<Placement> result = {{t.q, problem.dtype, q, gaps.q},
                                   {t.k, problem.dtype, k, gaps.k},
                                   {t.v, problem.dtype, v, gaps.v},
                                   {t.o, problem.dtype, o, gaps.o},
                                   {t.lse, f32, lse, 0}};
  if (problem.backward)
    for (const auto &[gradient, shape, gap] : {std::tuple(&t.d_o, o, gaps.o), std::tuple(&t.dq, q, gaps.q),
                                               std::tuple(&t.dk, k, gaps.k), std::tuple(&t.dv, v, gaps.v)})
      result.push_back({*gradient, problem.dtype, shape, gap});
  placeVariant(result, t, attention);
  if (problem.dropout_p != 0)
    result.push_back({t.dropout_state, i64, {2}});
  if (attention.blocks)
    placeBlocks(result, t, *attention.blocks);
  if (problem.diagonal_offset)
    result.push_back({t.diagonal_offset, i32, {1}});
  if (problem.sinks)
    result.push_back({t.sinks, f32, {s.heads}});
  if (problem.sinks && problem.backward)
    result.push_back({t.d_sinks, f32, {s.heads}});
  if (attention.pages)
    for (DeviceTensor *tensor : {&t.page_table, &t.page_lengths})
      result.push_back({*tensor, i32, {attention.pages->usedPages()}});
  return result;
}

double bytesOf(const Placement &placement) {
  double rows = 1;
  for (size_t dim = 0; dim + 1 < placement.shape.size(); ++dim)
    rows *= double(placement.shape[dim]);
  return rows * double(placement.shape.back() + placement.row_gap) * double(sizeOf(placement.dtype));
}

Expected<int64_t> neededWorkspace(const AttentionPlan &plan, const AttentionCase &attention) {
  Expected<int64_t> forward = plan.forwardWorkspace(attention.shape);
  if (!forward || !attention.problem.backward)
    return forward;
  Expected<int64_t> backward = plan.backwardWorkspace(attention.shape);
  return backward ? std::max(*forward, *backward) : backward;
}

} // namespace

Expected<AttentionData> AttentionData::make(const AttentionCase &attention, const AttentionPlan &plan,
                                            std::shared_ptr<Device> device) {
  Expected<int64_t> workspace = neededWorkspace(plan, attention);
  if (!workspace)
    return workspace.status();
  AttentionData data(attention, std::move(device));
  TEGULA_RETURN_IF_ERROR(data.allocate(*workspace));
  TEGULA_RETURN_IF_ERROR(data.fillInputs());
  return data;
}

Status AttentionData::allocate(int64_t workspace_bytes) {
  std::vector<Placement> all = placements(tensors_, attention_);
  double total = double(workspace_bytes);
  for (const Placement &placement : all)
    total += bytesOf(placement);
  TEGULA_RETURN_IF_ERROR(checkThatTensorsFit(total, *device_));

  for (Placement &placement : all) {
    Expected<DeviceTensor> tensor = allocateTensor(*device_, placement.dtype, placement.shape, placement.row_gap);
    if (!tensor)
      return tensor.status();
    placement.tensor = std::move(*tensor);
  }
  return allocateWorkspace(workspace_bytes);
}

Status AttentionData::allocateWorkspace(int64_t bytes) {
  Expected<Buffer> memory = device_->allocate(bytes);
  if (!memory)
    return memory.status();
  workspace_ = std::move(*memory);
  return {};
}

Status AttentionData::makeRoomFor(const AttentionPlan &plan) {
  Expected<int64_t> bytes = neededWorkspace(plan, attention_);
  if (!bytes)
    return bytes.status();
  return *bytes > workspace_.bytes() ? allocateWorkspace(*bytes) : Status();
}

Status AttentionData::fillInputs() const {
  uint64_t seed = 4 * attention_.seed;
  for (const DeviceTensor *tensor : {&tensors_.q, &tensors_.k, &tensors_.v, &tensors_.d_o})
    TEGULA_RETURN_IF_ERROR(fillWithNormalNumbers(*device_, *tensor, seed++));
  if (attention_.family != oracle::Family::normal) {
    const oracle::Inputs inputs = oracle::makeInputs(oracleShape(attention_), attention_.scale,
                                                     attention_.problem.dtype, attention_.family, attention_.seed);
    TEGULA_RETURN_IF_ERROR(upload(*device_, inputs.q, tensors_.q));
    TEGULA_RETURN_IF_ERROR(upload(*device_, inputs.k, tensors_.k));
    TEGULA_RETURN_IF_ERROR(upload(*device_, inputs.v, tensors_.v));
  }
  TEGULA_RETURN_IF_ERROR(fillWithNormalNumbers(*device_, tensors_.sinks, seed));
  TEGULA_RETURN_IF_ERROR(fillVariant());
  TEGULA_RETURN_IF_ERROR(fillDropoutState());
  TEGULA_RETURN_IF_ERROR(fillDiagonalOffset());
  TEGULA_RETURN_IF_ERROR(fillBlocks());
  return clearVariantGradients();
}

Status AttentionData::fillVariant() const {
  for (size_t n = 0; n < tensors_.variant.size(); ++n) {
    const DeviceTensor &tensor = tensors_.variant[n];
    const std::vector<float> values =
        attention_.variant_values
            ? attention_.variant_values(attention_.problem.variant.tensors[n].name, tensor.shape())
            : std::vector<float>();
    TEGULA_RETURN_IF_ERROR(values.empty() ? fillWithNormalNumbers(*device_, tensor, attention_.seed + n)
                                          : upload(*device_, values, tensor));
  }
  return {};
}

Status AttentionData::fillDropoutState() const {
  if (attention_.problem.dropout_p == 0)
    return {};
  const int64_t numbers[] = {attention_.dropout_seed, attention_.dropout_offset};
  TEGULA_RETURN_IF_ERROR(device_->copyToDevice(tensors_.dropout_state.memory.data(), numbers, sizeof numbers));
  return device_->synchronize();
}

Status AttentionData::fillDiagonalOffset() const {
  if (!attention_.problem.diagonal_offset)
    return {};
  const auto number = int32_t(attention_.diagonal_offset);
  return upload(*device_, std::span(&number, 1), tensors_.diagonal_offset);
}

Status AttentionData::fillBlocks() const {
  if (!attention_.blocks)
    return {};
  size_t next = 0;
  for (const GivenBlocks::Lists *lists : {&attention_.blocks->partial, &attention_.blocks->full}) {
    const BlockArrays arrays = arraysOf(*lists);
    TEGULA_RETURN_IF_ERROR(upload(*device_, std::span(arrays.counts), tensors_.blocks[next++]));
    TEGULA_RETURN_IF_ERROR(upload(*device_, std::span(arrays.indices), tensors_.blocks[next++]));
  }
  return {};
}

BlockMaskTensors blockMaskTensors(const AttentionTensors &t) {
  if (t.blocks.empty())
    return {};
  return {t.blocks[0].view, t.blocks[1].view, t.blocks[2].view, t.blocks[3].view};
}

Status AttentionData::clearVariantGradients() const {
  for (const DeviceTensor &tensor : tensors_.variant_gradients)
    if (tensor.size() != 0)
      TEGULA_RETURN_IF_ERROR(upload(*device_, std::vector(size_t(tensor.size()), 0.f), tensor));
  return {};
}

static std::vector<TensorRef> viewsOf(const std::vector<DeviceTensor> &tensors) {
  std::vector<TensorRef> views;
  for (const DeviceTensor &tensor : tensors)
    views.push_back(tensor.view);
  return views;
}

Status AttentionData::spoilOutputs() const {
  for (const DeviceTensor *tensor :
       {&tensors_.o, &tensors_.lse, &tensors_.dq, &tensors_.dk, &tensors_.dv, &tensors_.d_sinks})
    TEGULA_RETURN_IF_ERROR(spoil(*device_, *tensor));
  return {};
}

Status AttentionData::spoilUnusedRows() const {
  if (!attention_.pages)
    return {};
  for (const DeviceTensor *tensor : {&tensors_.k, &tensors_.v}) {
    Expected<std::vector<float>> pool = download(*device_, *tensor);
    if (!pool)
      return pool.status();
    TEGULA_RETURN_IF_ERROR(upload(*device_, attention_.pages->spoilUnused(*pool, tensor->shape().back()), *tensor));
  }
  return {};
}

int64_t AttentionData::bytes() const {
  int64_t sum = workspace_.bytes();
  const AttentionTensors &t = tensors_;
  for (const DeviceTensor *tensor : {&t.q, &t.k, &t.v, &t.o, &t.lse, &t.d_o, &t.dq, &t.dk, &t.dv, &t.sinks, &t.d_sinks,
                                     &t.page_table, &t.page_lengths})
    sum += tensor->memory.bytes();
  for (const std::vector<DeviceTensor> *tensors : {&t.variant, &t.variant_gradients})
    for (const DeviceTensor &tensor : *tensors)
      sum += tensor.memory.bytes();
  return sum;
}

Status AttentionData::forward(const AttentionPlan &plan) const {
  const AttentionTensors &t = tensors_;
  const std::vector<TensorRef> variant = viewsOf(t.variant);
  AttentionForward call{.q = t.q.view,
                        .k = t.k.view,
                        .v = t.v.view,
                        .o = t.o.view,
                        .lse = t.lse.view,
                        .scale = attention_.scale,
                        .variant_tensors = variant,
                        .block_mask = blockMaskTensors(t),
                        .dropout_state = t.dropout_state.view,
                        .sinks = t.sinks.view,
                        .diagonal_offset = t.diagonal_offset.view,
                        .page_table = t.page_table.view,
                        .page_lengths = t.page_lengths.view};
  return plan.forward(call, {workspace_.data(), workspace_.bytes()});
}

Status AttentionData::backward(const AttentionPlan &plan) const {
  const AttentionTensors &t = tensors_;
  const std::vector<TensorRef> variant = viewsOf(t.variant), gradients = viewsOf(t.variant_gradients);
  AttentionBackward call{.q = t.q.view,
                         .k = t.k.view,
                         .v = t.v.view,
                         .o = t.o.view,
                         .lse = t.lse.view,
                         .d_o = t.d_o.view,
                         .dq = t.dq.view,
                         .dk = t.dk.view,
                         .dv = t.dv.view,
                         .scale = attention_.scale,
                         .variant_tensors = variant,
                         .variant_gradients = gradients,
                         .block_mask = blockMaskTensors(t),
                         .dropout_state = t.dropout_state.view,
                         .sinks = t.sinks.view,
                         .d_sinks = t.d_sinks.view,
                         .diagonal_offset = t.diagonal_offset.view};
  return plan.backward(call, {workspace_.data(), workspace_.bytes()});
}

} // namespace tegula::tools
