// SPDX-License-Identifier: MIT
// Lesson 4: flash attention. The softmax is computed over tiles of keys, so that no matrix of scores is kept.
#include "lesson.h"
#include "tegula/dsl.h"

using namespace tegula;

constexpr int64_t kRows = 64, kKeys = 64, kDim = 64; // Queries and keys of a tile, and numbers in each.

Value scoresOf(Value q, View K, Value key) {
  Value exists = key + asRow(iota(kKeys)) < K.dim(0);
  return select(exists, dot(q, transpose(K.load(key, {kKeys, kDim}))) * 0.125, -kInfinity);
}

void byHand(View Q, View K, View V, View O) {
  Value row = programId(0) * kRows, q = Q.load(row, {kRows, kDim});
  Var m = fill({kRows}, -kInfinity); // The largest score of each row so far.
  Var l = fill({kRows}, 0.0);        // The sum of exp(score - m).
  Var o = fill({kRows, kDim}, 0.0);  // The sum of exp(score - m) v.
  for (Value key : range(0, K.dim(0), kKeys)) {
    Value s = scoresOf(q, K, key);
    Value larger = max(m, rowMax(s));
    Value shrink = exp(m - larger); // Sums were relative to m, and become relative to the larger maximum.
    Value p = exp(s - asColumn(larger));
    l = l * shrink + rowSum(p);
    o = dot(p, V.load(key, {kKeys, kDim}), o * asColumn(shrink));
    m = larger;
  }
  O.store(row, o / asColumn(l));
}

/// Computes the same with the class that the language has for it.
void withClass(View Q, View K, View V, View O) {
  Value row = programId(0) * kRows, q = Q.load(row, {kRows, kDim});
  OnlineSoftmax softmax(kRows, kDim);
  for (Value key : range(0, K.dim(0), kKeys))
    softmax.update(scoresOf(q, K, key), V.load(key, {kKeys, kDim}));
  O.store(row, softmax.output());
}

int main() {
  Machine machine;
  const int64_t length = 500, count = length * kDim;
  const std::vector<float> q = randomNumbers(count), k = randomNumbers(count), v = randomNumbers(count);
  auto weightOf = [](int64_t, int64_t, double product) { return std::exp(0.125 * product); };
  const std::vector<double> exact = plainAttention(exactly(q), exactly(k), exactly(v), kDim, weightOf);
  const TensorRef Q = machine.upload(q, {length, kDim}), K = machine.upload(k, {length, kDim});
  const TensorRef V = machine.upload(v, {length, kDim}), O = machine.allocate({length, kDim});
  auto isRight = [&](const char *name, auto function) {
    const Program program = valueOf(record("attention", function, TensorArg{"q", f32, 2}, TensorArg{"k", f32, 2},
                                           TensorArg{"v", f32, 2}, TensorArg{"o", f32, 2}));
    const std::shared_ptr<Kernel> kernel = valueOf(machine.cache.get(program.text));
    require(kernel->launch({.x = (length + kRows - 1) / kRows}, {Q, K, V, O}));
    return check(name, machine.download(O), exact, 1e-5);
  };
  const bool hand = isRight("by hand", byHand), library = isRight("OnlineSoftmax", withClass);
  return hand && library ? 0 : 1;
}
