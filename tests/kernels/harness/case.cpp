// SPDX-License-Identifier: MIT
#include "harness/case.h"

#include "harness/machine.h"
#include "workload/attention_case.h"

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <span>

namespace tegula::testing {
namespace {

AttentionProblem problemOf(const Case &c) {
  return {.dtype = c.dtype,
          .algorithm = c.algorithm,
          .head_dim = int(c.shape.head_dim),
          .value_dim = int(c.shape.value_dim),
          .causal = c.causal,
          .variant = makeVariant(c.variant, c.dtype),
          .block_mask = c.block_mask,
          .backward = c.backward,
          .lse_gradient = c.lse_gradient,
          .contain_nonfinite = c.contain_nonfinite,
          .deterministic = c.deterministic,
          .dropout_p = c.dropout_p,
          .sinks = c.sinks,
          .diagonal_offset = c.diagonal_offset};
}

/// Returns the offsets of a call's diagonal: one, or one for each batch entry.
std::vector<int32_t> diagonalOffsets(const Case &c) {
  if (!c.diagonal_offset)
    return {};
  std::minstd_rand random(uint32_t(c.seed % 1000003 + 1));
  random.discard(5);
  std::vector<int32_t> offsets(random() / 7 % 3 == 0 ? 1 : size_t(c.shape.batch));
  const int64_t span = c.shape.seqlen_q + c.shape.seqlen_k + 20;
  for (int32_t &offset : offsets)
    offset = int32_t(int64_t(random()) % (2 * span) - span);
  return offsets;
}

void addCausal(oracle::Rules &rules, const Case &c, const oracle::Shape &shape) {
  if (c.causal != Causal::none)
    oracle::addCausal(rules, shape,
                      c.causal == Causal::top_left ? oracle::Corner::top_left : oracle::Corner::bottom_right);
}

/// Returns seed and offset.
std::array<int64_t, 2> dropoutState(const Case &c) { return {int64_t(c.seed), (int64_t{1} << 33) + int64_t(c.seed)}; }

void addDropout(oracle::Rules &rules, const Case &c) {
  const auto [seed, offset] = dropoutState(c);
  if (c.dropout_p != 0)
    oracle::addDropout(rules, c.shape, int(std::lround(256 * (1 - c.dropout_p))), seed, offset, 0);
}

/// Returns sinks of the size of scores, some far above or below them.
std::vector<float> sinkValues(const Case &c) {
  std::vector<float> sinks = oracle::normalNumbers(c.shape.heads, f32, c.seed + 3);
  for (float &sink : sinks)
    sink *= 3;
  if (c.seed % 4 == 0 && !sinks.empty())
    sinks[c.seed % sinks.size()] = -std::numeric_limits<float>::infinity();
  return sinks;
}

Status launchForward(const Case &c, const AttentionPlan &plan, Tensors &t) {
  Expected<int64_t> bytes = plan.forwardWorkspace(tools::attentionShape(c.shape));
  if (!bytes)
    return bytes.status();
  ScratchMemory scratch(*bytes);
  std::vector<TensorRef> variant = t.variant.tensorRefs();
  AttentionForward call{.q = t.q.ref(),
                        .k = t.k.ref(),
                        .v = t.v.ref(),
                        .o = t.o.ref(),
                        .lse = t.lse.ref(),
                        .scale = float(c.scale()),
                        .variant_tensors = variant,
                        .block_mask = t.blocks.refs(),
                        .dropout_state = c.dropout_p != 0 ? t.dropout_state.ref() : TensorRef(),
                        .sinks = c.sinks ? t.sinks.ref() : TensorRef(),
                        .diagonal_offset = c.diagonal_offset ? t.diagonal_offset.ref() : TensorRef()};
  return plan.forward(call, scratch.get());
}

Status launchBackward(const Case &c, const AttentionPlan &plan, Tensors &t) {
  Expected<int64_t> bytes = plan.backwardWorkspace(tools::attentionShape(c.shape));
  if (!bytes)
    return bytes.status();
  ScratchMemory scratch(*bytes);
  std::vector<TensorRef> variant = t.variant.tensorRefs(), gradients = t.variant.gradientRefs();
  AttentionBackward call{.q = t.q.ref(),
                         .k = t.k.ref(),
                         .v = t.v.ref(),
                         .o = t.o.ref(),
                         .lse = t.lse.ref(),
                         .d_o = t.d_o.ref(),
                         .d_lse = c.lse_gradient ? t.d_lse.ref() : TensorRef(),
                         .dq = t.dq.ref(),
                         .dk = t.dk.ref(),
                         .dv = t.dv.ref(),
                         .scale = float(c.scale()),
                         .variant_tensors = variant,
                         .variant_gradients = gradients,
                         .block_mask = t.blocks.refs(),
                         .dropout_state = c.dropout_p != 0 ? t.dropout_state.ref() : TensorRef(),
                         .sinks = c.sinks ? t.sinks.ref() : TensorRef(),
                         .d_sinks = c.sinks ? t.d_sinks.ref() : TensorRef(),
                         .diagonal_offset = c.diagonal_offset ? t.diagonal_offset.ref() : TensorRef()};
  return plan.backward(call, scratch.get());
}

} // namespace

double Case::scale() const { return sharpness / std::sqrt(double(shape.head_dim)); }

std::vector<TestTensor *> Tensors::outputs() { return {&o, &lse, &dq, &dk, &dv}; }

std::vector<TestTensor *> Tensors::all() {
  std::vector<TestTensor *> tensors = {&q, &k, &v, &o, &lse, &d_o, &dq, &dk, &dv};
  if (!upstream_lse.empty())
    tensors.push_back(&d_lse);
  if (dropout_state.ref().rank != 0)
    tensors.push_back(&dropout_state);
  if (sinks.ref().rank != 0)
    tensors.insert(tensors.end(), {&sinks, &d_sinks});
  if (diagonal_offset.ref().rank != 0)
    tensors.push_back(&diagonal_offset);
  for (TestTensor &tensor : variant.tensors)
    tensors.push_back(&tensor);
  for (TestTensor &tensor : blocks.tensors)
    tensors.push_back(&tensor);
  for (TestTensor &tensor : variant.gradients)
    tensors.push_back(&tensor);
  return tensors;
}

Tensors makeTensors(const Case &c) {
  oracle::Shape s = c.shape;
  const std::vector<int32_t> offsets = diagonalOffsets(c);
  s.diagonal_offsets = offsets.size() == 1 ? std::vector(size_t(s.batch), offsets[0]) : offsets;
  std::vector<int64_t> q = {s.batch, s.heads, s.seqlen_q, s.head_dim},
                       k = {s.batch, s.kv_heads, s.seqlen_k, s.head_dim};
  std::vector<int64_t> o = {s.batch, s.heads, s.seqlen_q, s.value_dim};
  std::vector<int64_t> v = {s.batch, s.kv_heads, s.seqlen_k, s.value_dim};
  oracle::Inputs in = oracle::makeInputs(s, c.scale(), c.dtype, c.family, c.seed);
  std::vector<float> upstream = oracle::normalNumbers(s.sizeO(), c.dtype, c.seed + 1);
  auto input = [&](const std::vector<int64_t> &shape, const std::vector<float> &numbers) {
    return TestTensor(c.dtype, shape, c.layout, c.poison, numbers);
  };
  auto output = [&](const std::vector<int64_t> &shape) { return TestTensor(c.dtype, shape, c.layout, c.poison); };
  Tensors t{.q = input(q, in.q),
            .k = input(k, in.k),
            .v = input(v, in.v),
            .o = output(o),
            .lse = TestTensor(f32, {s.batch, s.heads, s.seqlen_q}, c.layout, c.poison),
            .d_o = input(o, upstream),
            .dq = output(q),
            .dk = output(k),
            .dv = output(v),
            .variant = makeRun(c.variant, s, c.dtype, c.layout, c.poison, c.seed, c.slope, c.scale()),
            .inputs = std::move(in),
            .upstream = std::move(upstream)};
  if (c.lse_gradient) {
    t.upstream_lse = oracle::normalNumbers(s.sizeLse(), f32, c.seed + 2);
    t.d_lse = TestTensor(f32, {s.batch, s.heads, s.seqlen_q}, c.layout, c.poison, t.upstream_lse);
  }
  if (c.dropout_p != 0) {
    const std::array<int64_t, 2> state = dropoutState(c);
    t.dropout_state = TestTensor(i64, {2}, Layout::contiguous, Poison::ones, std::as_bytes(std::span(state)));
  }
  if (c.sinks) {
    t.sinks = TestTensor(f32, {s.heads}, c.layout, c.poison, sinkValues(c));
    t.d_sinks = TestTensor(f32, {s.heads}, c.layout, c.poison);
  }
  if (c.diagonal_offset)
    t.diagonal_offset = TestTensor({int64_t(offsets.size())}, c.layout, c.poison, offsets);
  for (oracle::Rules *rules : {&t.variant.exact, &t.variant.plain}) {
    addCausal(*rules, c, s);
    addDropout(*rules, c);
    if (c.sinks)
      rules->sinks = sinkValues(c);
  }
  if (c.block_mask.source == BlockMask::Source::given)
    t.blocks = makeBlocks(c.block_mask, s, !makeVariant(c.variant, c.dtype).mask, c.layout, c.poison, c.seed,
                          t.variant.exact, t.variant.plain);
  return t;
}

Expected<AttentionPlan> planFor(const Case &c) {
  return AttentionPlan::make(problemOf(c), *machine().cache, c.schedule);
}

Status launch(const Case &c, Tensors &tensors) {
  Expected<AttentionPlan> plan = planFor(c);
  if (!plan)
    return plan.status();
  TEGULA_RETURN_IF_ERROR(launchForward(c, *plan, tensors));
  if (c.backward)
    TEGULA_RETURN_IF_ERROR(launchBackward(c, *plan, tensors));
  return machine().device->synchronize();
}

} // namespace tegula::testing
