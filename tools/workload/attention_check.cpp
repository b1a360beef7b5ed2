// SPDX-License-Identifier: MIT
// One key/value head of one batch entry, with its query heads, is a problem of its own: the cores share those.
#include "workload/attention_check.h"
#include "tegula/cpu_info.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

using oracle::plainError;

/// What is known of an AttentionReference while it is computed.
struct Reference {
  oracle::Outputs outputs;
  oracle::Gradients gradients;
  std::array<double, 5> plain = {};
  std::mutex plain_mutex; ///< The parts of the rest do not overlap.

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

/// One part of the problem, computed on its own.
struct Part {
  oracle::Shape shape;
  oracle::Rules rules;
  double scale;
  DType dtype;
  oracle::Inputs inputs;
  std::vector<float> d_o; ///< Empty without a backward pass.
};

Part makePart(const AttentionCase &attention, const AttentionArrays &arrays, int64_t index) {
  oracle::Shape shape = oracleShape(attention);
  shape.heads /= shape.kv_heads;
  shape.batch = shape.kv_heads = 1;
  return {shape,
          causalRules(attention.problem.causal, shape),
          attention.scale,
          attention.problem.dtype,
          {part(arrays.q, index, shape.sizeQ()), part(arrays.k, index, shape.sizeK()),
           part(arrays.v, index, shape.sizeV())},
          attention.problem.backward ? part(arrays.d_o, index, shape.sizeO()) : std::vector<float>()};
}

std::array<double, 5> plainErrors(const Part &p, const oracle::Outputs &outputs, const oracle::Gradients &gradients,
                                  int run) {
  oracle::Outputs plain = plainForward(p.shape, p.rules, p.scale, p.inputs, p.dtype, run);
  std::array<double, 5> errors = {plainError(plain.o, outputs.o), plainError(plain.lse, outputs.lse)};
  if (p.d_o.empty())
    return errors;
  oracle::Gradients plainGradients = plainBackward(p.shape, p.rules, p.scale, p.inputs, p.d_o, p.dtype, run);
  errors[2] = plainError(plainGradients.dq, gradients.dq);
  errors[3] = plainError(plainGradients.dk, gradients.dk);
  errors[4] = plainError(plainGradients.dv, gradients.dv);
  return errors;
}

/// Fills part `index` of the reference.
void computePart(const AttentionCase &attention, const AttentionArrays &arrays, int64_t index, Reference &to) {
  Part p = makePart(attention, arrays, index);
  oracle::Outputs outputs = forward(p.shape, p.rules, p.scale, p.inputs);
  oracle::Gradients gradients;
  if (!p.d_o.empty())
    gradients = backward(p.shape, p.rules, p.scale, p.inputs, p.d_o);
  place(outputs, index, to);
  place(gradients, index, to);
  for (int run = 0; run < oracle::plainRuns(oracleShape(attention)); ++run) {
    std::array<double, 5> errors = plainErrors(p, outputs, gradients, run);
    std::lock_guard lock(to.plain_mutex);
    std::transform(errors.begin(), errors.end(), to.plain.begin(), to.plain.begin(),
                   [](double a, double b) { return std::max(a, b); });
  }
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

AttentionReference::AttentionReference(const AttentionCase &attention, const AttentionArrays &arrays)
    : attention_(attention) {
  oracle::Shape shape = oracleShape(attention);
  Reference exact(shape, attention.problem.backward);
  forEachInParallel(shape.batch * shape.kv_heads, [&](int64_t index) { computePart(attention, arrays, index, exact); });
  outputs_ = std::move(exact.outputs);
  gradients_ = std::move(exact.gradients);
  plain_ = exact.plain;
}

AttentionErrors AttentionReference::errors(const AttentionArrays &arrays) const {
  auto error = [&](const std::vector<float> &x, const std::vector<double> &numbers, DType dtype, double plain) {
    oracle::Error error = oracle::measure(x, numbers, dtype);
    error.plain = plain;
    return error;
  };
  DType dtype = attention_.problem.dtype;
  AttentionErrors errors;
  errors.forward = {{"o", error(arrays.o, outputs_.o, dtype, plain_[0])},
                    {"lse", error(arrays.lse, outputs_.lse, f32, plain_[1])}};
  if (attention_.problem.backward)
    errors.backward = {{"dq", error(arrays.dq, gradients_.dq, dtype, plain_[2])},
                       {"dk", error(arrays.dk, gradients_.dk, dtype, plain_[3])},
                       {"dv", error(arrays.dv, gradients_.dv, dtype, plain_[4])}};
  return errors;
}

AttentionErrors checkAttention(const AttentionCase &attention, const AttentionArrays &arrays) {
  return AttentionReference(attention, arrays).errors(arrays);
}

Status verdict(const AttentionErrors &errors) {
  std::string bad;
  for (const auto *list : {&errors.forward, &errors.backward})
    for (const TensorError &tensor : *list)
      if (!tensor.acceptable())
        bad += fmt::format("{}{} has {:.3g}", bad.empty() ? "" : ", ", tensor.name, tensor.ratio());
  if (bad.empty())
    return {};
  return {ErrorCode::Internal, fmt::format("the error ratio may be at most {}, but {}", kLargestErrorRatio, bad)};
}

} // namespace tegula::tools
