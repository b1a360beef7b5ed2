// SPDX-License-Identifier: MIT
#include "harness/case.h"

#include "harness/machine.h"
#include "workload/attention_case.h"

#include <cmath>

namespace tegula::testing {
namespace {

AttentionProblem problemOf(const Case &c) {
  return {.dtype = c.dtype,
          .algorithm = c.algorithm,
          .head_dim = int(c.shape.head_dim),
          .value_dim = int(c.shape.value_dim),
          .causal = c.causal,
          .variant = makeVariant(c.variant, c.dtype),
          .backward = c.backward,
          .lse_gradient = c.lse_gradient,
          .contain_nonfinite = c.contain_nonfinite,
          .deterministic = c.deterministic};
}

void addCausal(oracle::Rules &rules, const Case &c) {
  if (c.causal != Causal::none)
    oracle::addCausal(rules, c.shape,
                      c.causal == Causal::top_left ? oracle::Corner::top_left : oracle::Corner::bottom_right);
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
                        .variant_tensors = variant};
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
                         .variant_gradients = gradients};
  return plan.backward(call, scratch.get());
}

} // namespace

double Case::scale() const { return sharpness / std::sqrt(double(shape.head_dim)); }

std::vector<TestTensor *> Tensors::outputs() { return {&o, &lse, &dq, &dk, &dv}; }

std::vector<TestTensor *> Tensors::all() {
  std::vector<TestTensor *> tensors = {&q, &k, &v, &o, &lse, &d_o, &dq, &dk, &dv};
  if (!upstream_lse.empty())
    tensors.push_back(&d_lse);
  for (TestTensor &tensor : variant.tensors)
    tensors.push_back(&tensor);
  for (TestTensor &tensor : variant.gradients)
    tensors.push_back(&tensor);
  return tensors;
}

Tensors makeTensors(const Case &c) {
  const oracle::Shape &s = c.shape;
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
            .variant = makeRun(c.variant, s, c.dtype, c.layout, c.poison, c.seed, c.slope),
            .inputs = std::move(in),
            .upstream = std::move(upstream)};
  if (c.lse_gradient) {
    t.upstream_lse = oracle::normalNumbers(s.sizeLse(), f32, c.seed + 2);
    t.d_lse = TestTensor(f32, {s.batch, s.heads, s.seqlen_q}, c.layout, c.poison, t.upstream_lse);
  }
  addCausal(t.variant.exact, c);
  addCausal(t.variant.plain, c);
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
