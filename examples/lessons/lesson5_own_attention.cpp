// SPDX-License-Identifier: MIT
// Lesson 5: a mask and a score of one's own. The library's kernels use them, and the backward pass is derived.
#include "lesson.h"
#include "tegula/attention.h"

using namespace tegula;

constexpr int64_t kDim = 16, kLength = 60, kCount = kLength * kDim;

/// Returns a variant in which a query sees the last eight keys and every fourth one before. Scores stay within 8.
Variant strided() {
  Variant variant{.name = "strided"};
  variant.bands = {{.left = {}, .right = 0, .alignment = Alignment::top_left}}; // No key after the query.
  variant.mask = [](const ScoreIndex &at, VariantViews) { return (at.query - at.key < 8) | (at.key % 4 == 0); };
  variant.score = [](Value score, const ScoreIndex &, VariantViews) { return score / (1.0 + abs(score) / 8.0); };
  return variant;
}

using Numbers = std::vector<double>;

/// Returns the output for one head, in plain loops.
Numbers attention(const Numbers &q, const Numbers &k, const Numbers &v) {
  return plainAttention(q, k, v, kDim, [](int64_t i, int64_t j, double product) {
    const double score = product / std::sqrt(kDim);
    const bool seen = j <= i && (i - j < 8 || j % 4 == 0);
    return seen ? std::exp(score / (1 + std::abs(score) / 8)) : 0;
  });
}

int main() {
  Machine machine;
  AttentionProblem problem{.dtype = f32, .head_dim = kDim, .value_dim = kDim};
  problem.variant = strided();
  problem.backward = true;
  const AttentionPlan plan = valueOf(AttentionPlan::make(problem, machine.cache));

  Numbers inputs[4]; // q, k, v and the gradient of o.
  TensorRef tensors[8];
  for (int n = 0; n < 8; ++n) {
    const std::vector<float> numbers = randomNumbers(kCount);
    tensors[n] = machine.upload(numbers, {1, 1, kLength, kDim});
    if (n < 4)
      inputs[n] = exactly(numbers);
  }
  const auto &[Q, K, V, dO, O, dQ, dK, dV] = tensors;
  const TensorRef LSE = machine.allocate({1, 1, kLength});
  const AttentionShape shape{.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = kLength, .seqlen_k = kLength};
  const Buffer memory = valueOf(machine.device->allocate(
      std::max(valueOf(plan.forwardWorkspace(shape)), valueOf(plan.backwardWorkspace(shape)))));
  const Workspace workspace{memory.data(), memory.bytes()};
  require(plan.forward({.q = Q, .k = K, .v = V, .o = O, .lse = LSE}, workspace));
  require(
      plan.backward({.q = Q, .k = K, .v = V, .o = O, .lse = LSE, .d_o = dO, .dq = dQ, .dk = dK, .dv = dV}, workspace));
  bool right = check("o", machine.download(O), attention(inputs[0], inputs[1], inputs[2]), 1e-5);

  // The gradients are compared with differences of sum(o * dO), which is the loss that has the gradient dO.
  auto loss = [&] {
    const Numbers o = attention(inputs[0], inputs[1], inputs[2]);
    return std::inner_product(o.begin(), o.end(), inputs[3].begin(), 0.0);
  };
  const char *names[] = {"dq", "dk", "dv"};
  for (int n = 0; n < 3; ++n) {
    Numbers gradient;
    for (double &x : inputs[n]) {
      const double middle = x, step = 1e-4;
      x = middle + step;
      const double above = loss();
      x = middle - step;
      gradient.push_back((above - loss()) / (2 * step));
      x = middle;
    }
    right &= check(names[n], machine.download(tensors[5 + n]), gradient, 1e-4);
  }
  return right ? 0 : 1;
}
