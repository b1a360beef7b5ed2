// SPDX-License-Identifier: MIT
#include "harness/case.h"

#include "harness/machine.h"
#include "oracle/convert.h"

#include <cmath>
#include <sstream>

namespace tegula::testing {
namespace {

AttentionProblem problemOf(const Case &c) {
  return {.dtype = c.dtype,
          .algorithm = c.algorithm,
          .head_dim = int(c.shape.head_dim),
          .value_dim = int(c.shape.value_dim),
          .causal = c.causal,
          .variant = makeVariant(c.variant, c.dtype),
          .backward = c.backward};
}

AttentionShape shapeOf(const oracle::Shape &s) { return {s.batch, s.heads, s.kv_heads, s.seqlen_q, s.seqlen_k}; }

void addCausal(oracle::Rules &rules, const Case &c) {
  if (c.causal != Causal::none)
    oracle::addCausal(rules, c.shape,
                      c.causal == Causal::top_left ? oracle::Corner::top_left : oracle::Corner::bottom_right);
}

Status launchForward(const Case &c, const AttentionPlan &plan, Tensors &t) {
  Expected<int64_t> bytes = plan.forwardWorkspace(shapeOf(c.shape));
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
                        .variant = variant};
  return plan.forward(call, scratch.get());
}

Status launchBackward(const Case &c, const AttentionPlan &plan, Tensors &t) {
  Expected<int64_t> bytes = plan.backwardWorkspace(shapeOf(c.shape));
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
                         .dq = t.dq.ref(),
                         .dk = t.dk.ref(),
                         .dv = t.dv.ref(),
                         .scale = float(c.scale()),
                         .variant = variant,
                         .variant_gradients = gradients};
  return plan.backward(call, scratch.get());
}

/// Collects one line per result that is too far from the oracle's.
class Complaints {
public:
  void compare(const char *what, const TestTensor &tensor, const std::vector<double> &plain,
               const std::vector<double> &exact, double noise, DType dtype) {
    oracle::Error error = oracle::compare(tensor.numbers(), plain, exact, noise, dtype);
    if (!(error.ratio() <= kMaxRatio))
      text_ << what << ": error " << error.worst << ", plain formula " << error.plain << ", noise " << error.noise
            << ", ratio " << error.ratio() << "\n";
  }
  void add(const std::string &line) { text_ << line << "\n"; }
  std::string text() const { return text_.str(); }

private:
  std::ostringstream text_;
};

void checkForward(const Case &c, const Tensors &t, const oracle::Noise &noise, Complaints &complaints) {
  oracle::Outputs exact = forward(c.shape, t.variant.exact, float(c.scale()), t.inputs);
  oracle::Outputs plain = plainForward(c.shape, t.variant.plain, c.scale(), t.inputs, c.dtype);
  complaints.compare("o", t.o, plain.o, exact.o, noise.o, c.dtype);
  complaints.compare("lse", t.lse, plain.lse, exact.lse, noise.lse, f32);
}

void checkBackward(const Case &c, const Tensors &t, const oracle::Noise &noise, Complaints &complaints) {
  oracle::Gradients exact = backward(c.shape, t.variant.exact, float(c.scale()), t.inputs, t.upstream);
  oracle::Gradients plain = plainBackward(c.shape, t.variant.plain, c.scale(), t.inputs, t.upstream, c.dtype);
  complaints.compare("dq", t.dq, plain.dq, exact.dq, noise.dq, c.dtype);
  complaints.compare("dk", t.dk, plain.dk, exact.dk, noise.dk, c.dtype);
  complaints.compare("dv", t.dv, plain.dv, exact.dv, noise.dv, c.dtype);
  if (t.variant.exact_bias)
    complaints.compare("dbias", t.variant.gradients[0], *t.variant.plain_bias, *t.variant.exact_bias, noise.score,
                       c.dtype);
}

} // namespace

double Case::scale() const { return 1 / std::sqrt(double(shape.head_dim)); }

std::vector<TestTensor *> Tensors::outputs() { return {&o, &lse, &dq, &dk, &dv}; }

std::vector<TestTensor *> Tensors::all() {
  std::vector<TestTensor *> tensors = {&q, &k, &v, &o, &lse, &d_o, &dq, &dk, &dv};
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
            .variant = makeRun(c.variant, s, c.dtype, c.layout, c.poison, c.seed),
            .inputs = std::move(in),
            .upstream = std::move(upstream)};
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
  return c.backward ? launchBackward(c, *plan, tensors) : Status();
}

std::string check(const Case &c, Tensors &tensors) {
  Complaints complaints;
  oracle::Noise noise = noiseOf(c.shape, tensors.variant.exact, c.scale(), tensors.inputs,
                                c.backward ? tensors.upstream : std::vector<float>(), c.dtype);
  checkForward(c, tensors, noise, complaints);
  if (c.backward)
    checkBackward(c, tensors, noise, complaints);
  for (const TestTensor *tensor : tensors.all())
    if (!tensor->surroundingsIntact())
      complaints.add("memory outside a tensor was written");
  return complaints.text();
}

std::string runCase(const Case &c) {
  Tensors tensors = makeTensors(c);
  Status status = launch(c, tensors);
  std::string complaints = status.ok() ? check(c, tensors) : status.message() + "\n";
  return complaints.empty() ? "" : toString(c) + "\n" + complaints;
}

} // namespace tegula::testing
