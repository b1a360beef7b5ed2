// SPDX-License-Identifier: MIT
// One key/value head of one batch entry, with its query heads, is a problem of its own: the cores share those.
#include "workload/attention_check.h"
#include "workload/machine.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

using oracle::compare;

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

/// Keeps the larger of each.
void raiseTo(const oracle::Noise &part, oracle::Noise &whole) {
  for (double oracle::Noise::*member :
       {&oracle::Noise::o, &oracle::Noise::lse, &oracle::Noise::dq, &oracle::Noise::dk, &oracle::Noise::dv})
    whole.*member = std::max(whole.*member, part.*member);
}

oracle::Rules causalRules(Causal causal, const oracle::Shape &shape) {
  oracle::Rules rules;
  if (causal != Causal::none)
    addCausal(rules, shape, causal == Causal::top_left ? oracle::Corner::top_left : oracle::Corner::bottom_right);
  return rules;
}

struct References {
  Reference exact, plain;
  oracle::Noise noise;
  std::mutex noise_mutex; ///< The parts of the rest do not overlap.
};

/// Fills part `index` of the references.
void computePart(const AttentionCase &attention, const AttentionArrays &arrays, int64_t index, References &to) {
  oracle::Shape shape = oracleShape(attention);
  shape.heads /= shape.kv_heads;
  shape.batch = shape.kv_heads = 1;
  oracle::Rules rules = causalRules(attention.problem.causal, shape);
  oracle::Inputs inputs = {part(arrays.q, index, shape.sizeQ()), part(arrays.k, index, shape.sizeK()),
                           part(arrays.v, index, shape.sizeV())};
  std::vector<float> d_o;
  DType dtype = attention.problem.dtype;
  double scale = attention.scale;
  place(forward(shape, rules, scale, inputs), index, to.exact);
  place(plainForward(shape, rules, scale, inputs, dtype), index, to.plain);
  if (attention.problem.backward) {
    d_o = part(arrays.d_o, index, shape.sizeO());
    place(backward(shape, rules, scale, inputs, d_o), index, to.exact);
    place(plainBackward(shape, rules, scale, inputs, d_o, dtype), index, to.plain);
  }
  oracle::Noise noise = noiseOf(shape, rules, scale, inputs, d_o, dtype);
  std::lock_guard lock(to.noise_mutex);
  raiseTo(noise, to.noise);
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

double TensorError::ratio() const {
  double yardstick = error.plain > 0 ? error.plain : error.noise;
  return error.worst == 0 ? 0 : error.worst / yardstick;
}

AttentionErrors checkAttention(const AttentionCase &attention, const AttentionArrays &arrays) {
  oracle::Shape shape = oracleShape(attention);
  bool backward = attention.problem.backward;
  References references{{shape, backward}, {shape, backward}, {}, {}};
  forEachInParallel(shape.batch * shape.kv_heads,
                    [&](int64_t index) { computePart(attention, arrays, index, references); });

  const auto &[exact, plain, noise, mutex] = references;
  DType dtype = attention.problem.dtype;
  AttentionErrors errors;
  errors.forward = {{"o", compare(arrays.o, plain.outputs.o, exact.outputs.o, noise.o, dtype)},
                    {"lse", compare(arrays.lse, plain.outputs.lse, exact.outputs.lse, noise.lse, f32)}};
  if (backward)
    errors.backward = {{"dq", compare(arrays.dq, plain.gradients.dq, exact.gradients.dq, noise.dq, dtype)},
                       {"dk", compare(arrays.dk, plain.gradients.dk, exact.gradients.dk, noise.dk, dtype)},
                       {"dv", compare(arrays.dv, plain.gradients.dv, exact.gradients.dv, noise.dv, dtype)}};
  return errors;
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
