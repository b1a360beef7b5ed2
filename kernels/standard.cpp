// SPDX-License-Identifier: MIT
// Standard attention (Dao et al. 2022, Algorithm 0) in three programs, which write S and P to memory: the baseline.
#include "arguments.h"
#include "scores.h"

#include <limits>

namespace tegula {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Computes S = variant(scale Q K^T).
void scores(const AttentionConfig &c, View Q, View K, View S, Value scale, VariantViews tensors) {
  Value i = programId(0) * c.block_m;
  Value head = programId(1);
  Value batch = programId(2);
  Value kv_head = kvHead(head, Q, K);
  Scores scores(c, Q, K.dim(2), batch, head, tensors);
  ScoreStrip strip = scores.ofQueries(i);
  const Operands q = queriesOf(c, Q, tensors, batch, head).load(i, c.block_m); // [block_m, head_dim]
  for (Value j : range(0, K.dim(2), c.block_n)) {
    const Operands k = keysOf(c, K, tensors, batch, kv_head).load(j, c.block_n); // [block_n, head_dim]
    Value s = productOf(q, k) * scale;                                           // [block_m, block_n]
    S.at(batch, head).store({i, j}, strip.masked(s, {j}));
  }
}

/// Computes P = softmax(S), and L, the log of its denominators.
void softmax(const AttentionConfig &c, View S, View P, View L) {
  Value i = programId(0) * c.block_m;
  Value head = programId(1);
  Value batch = programId(2);
  View S_h = S.at(batch, head);
  View P_h = P.at(batch, head);
  Value keys = S.dim(3);

  Var m = fill({c.block_m}, -infinity); // [block_m]
  for (Value j : range(0, keys, c.block_n))
    m = max(m, rowMax(S_h.load({i, j}, {c.block_m, c.block_n}, -infinity)));
  Value shift = select(m == -infinity, 0.0, m); // [block_m]
  Var l = fill({c.block_m}, 0.0);               // [block_m]
  for (Value j : range(0, keys, c.block_n)) {
    Value s = S_h.load({i, j}, {c.block_m, c.block_n}, -infinity); // [block_m, block_n]
    l = l + rowSum(exp(s - asColumn(shift)));
  }
  Value divisor = select(l == 0.0, 1.0, l); // [block_m]
  for (Value j : range(0, keys, c.block_n)) {
    Value s = S_h.load({i, j}, {c.block_m, c.block_n}, -infinity); // [block_m, block_n]
    P_h.store({i, j}, exp(s - asColumn(shift)) / asColumn(divisor));
  }
  L.at(batch, head).store(i, m + log(l)); // [block_m]
}

/// Computes O = P V.
void output(const AttentionConfig &c, View P, View V, View O) {
  Value i = programId(0) * c.block_m;
  Value head = programId(1);
  Value batch = programId(2);
  Value kv_head = kvHead(head, P, V);
  Var o = fill({c.block_m, c.value_dim}, 0.0); // [block_m, value_dim]
  for (Value j : range(0, V.dim(2), c.block_n)) {
    Value p = P.at(batch, head).load({i, j}, {c.block_m, c.block_n}); // [block_m, block_n]
    Value v = V.at(batch, kv_head).load(j, {c.block_n, c.value_dim}); // [block_n, value_dim]
    o = dot(cast(c.dtype, p), v, o);
  }
  O.at(batch, head).store(i, o); // [block_m, value_dim]
}

} // namespace

Expected<Program> recordStandardScores(const AttentionConfig &config) {
  auto kernel = [&config](View q, View k, View s, Value scale, VariantViews tensors) {
    scores(config, q, k, s, scale, tensors);
  };
  return recordList("standard_scores", kernel, conditionTensors(config), tensor(config, "q"), tensor(config, "k"),
                    accumulator("s"), ScalarArg{"scale", f32});
}

Expected<Program> recordStandardSoftmax(const AttentionConfig &config) {
  auto kernel = [&config](View s, View p, View lse) { softmax(config, s, p, lse); };
  return record("standard_softmax", kernel, accumulator("s"), accumulator("p"), statistic("lse"));
}

Expected<Program> recordStandardOutput(const AttentionConfig &config) {
  auto kernel = [&config](View p, View v, View o) { output(config, p, v, o); };
  return record("standard_output", kernel, accumulator("p"), tensor(config, "v"), tensor(config, "o"));
}

} // namespace tegula
