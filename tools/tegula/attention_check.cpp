// SPDX-License-Identifier: MIT
// One key/value head of one batch entry, with its query heads, is a problem of its own: the cores share those.
#include "attention_check.h"
#include "workload/machine.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

struct Reference {
  oracle::Outputs outputs;
  oracle::Gradients gradients;

  Reference(const oracle::Shape &shape, bool backward) {
    outputs.o.resize(shape.sizeO());
    outputs.lse.resize(shape.sizeLse());
    gradients.dq.resize(backward ? shape.sizeQ() : 0);
    gradients.dk.resize(backward ? shape.sizeK() : 0);
    gradients.dv.resize(backward ? shape.sizeV() : 0);
  }
};

/// The elements that belong to part `index` of several equal ones.
template <class T> std::vector<T> part(const std::vector<T> &whole, int64_t index, int64_t size) {
  return {whole.begin() + index * size, whole.begin() + (index + 1) * size};
}

void place(const std::vector<double> &part, int64_t index, std::vector<double> &whole) {
  std::copy(part.begin(), part.end(), whole.begin() + index * int64_t(part.size()));
}

void place(const oracle::Outputs &part, int64_t index, Reference &whole) {
  place(part.o, index, whole.outputs.o);
  place(part.lse, index, whole.outputs.lse);
}

void place(const oracle::Gradients &part, int64_t index, Reference &whole) {
  place(part.dq, index, whole.gradients.dq);
  place(part.dk, index, whole.gradients.dk);
  place(part.dv, index, whole.gradients.dv);
}

oracle::Rules causalRules(Causal causal, const oracle::Shape &shape) {
  oracle::Rules rules;
  if (causal != Causal::none)
    addCausal(rules, shape, causal == Causal::top_left ? oracle::Corner::top_left : oracle::Corner::bottom_right);
  return rules;
}

/// Fills part `index` of both references.
void computePart(const AttentionCase &attention, const AttentionArrays &arrays, int64_t index, Reference &exact,
                 Reference &plain) {
  oracle::Shape shape = oracleShape(attention);
  shape.heads /= shape.kv_heads;
  shape.batch = shape.kv_heads = 1;
  oracle::Rules rules = causalRules(attention.problem.causal, shape);
  oracle::Inputs inputs = {part(arrays.q, index, shape.sizeQ()), part(arrays.k, index, shape.sizeK()),
                           part(arrays.v, index, shape.sizeV())};
  DType dtype = attention.problem.dtype;
  place(forward(shape, rules, attention.scale, inputs), index, exact);
  place(plainForward(shape, rules, attention.scale, inputs, dtype), index, plain);
  if (!attention.problem.backward)
    return;
  std::vector<float> d_o = part(arrays.d_o, index, shape.sizeO());
  place(backward(shape, rules, attention.scale, inputs, d_o), index, exact);
  place(plainBackward(shape, rules, attention.scale, inputs, d_o, dtype), index, plain);
}

/// Calls `work(0)` to `work(count - 1)` on all cores.
template <class Work> void forEachInParallel(int64_t count, Work work) {
  std::atomic<int64_t> next = 0;
  auto worker = [&] {
    for (int64_t index; (index = next++) < count;)
      work(index);
  };
  std::vector<std::jthread> threads;
  for (int64_t n = 1; n < std::min<int64_t>(count, usableCores()); ++n)
    threads.emplace_back(worker);
  worker();
}

} // namespace

AttentionErrors checkAttention(const AttentionCase &attention, const AttentionArrays &arrays) {
  oracle::Shape shape = oracleShape(attention);
  Reference exact(shape, attention.problem.backward), plain(shape, attention.problem.backward);
  forEachInParallel(shape.batch * shape.kv_heads,
                    [&](int64_t index) { computePart(attention, arrays, index, exact, plain); });

  DType dtype = attention.problem.dtype;
  AttentionErrors errors;
  errors.forward = {{"o", oracle::compare(arrays.o, plain.outputs.o, exact.outputs.o, 0, dtype)},
                    {"lse", oracle::compare(arrays.lse, plain.outputs.lse, exact.outputs.lse, 0, f32)}};
  if (attention.problem.backward)
    errors.backward = {{"dq", oracle::compare(arrays.dq, plain.gradients.dq, exact.gradients.dq, 0, dtype)},
                       {"dk", oracle::compare(arrays.dk, plain.gradients.dk, exact.gradients.dk, 0, dtype)},
                       {"dv", oracle::compare(arrays.dv, plain.gradients.dv, exact.gradients.dv, 0, dtype)}};
  return errors;
}

Status verdict(const AttentionErrors &errors) {
  std::string bad;
  for (const auto *list : {&errors.forward, &errors.backward})
    for (const TensorError &tensor : *list)
      if (!tensor.acceptable())
        bad += fmt::format("{}{} has {:.3g}", bad.empty() ? "" : ", ", tensor.name, tensor.error.ratio());
  if (bad.empty())
    return {};
  return {ErrorCode::Internal, fmt::format("the error ratio may be at most {}, but {}", kLargestErrorRatio, bad)};
}

} // namespace tegula::tools
