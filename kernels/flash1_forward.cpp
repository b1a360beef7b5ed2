// SPDX-License-Identifier: MIT
// FlashAttention, forward (Dao et al. 2022, Algorithm 1): one program instance per head. The keys are the outer loop,
// the queries the inner one; the row maximum m, the row sum l and the output live in memory between visits.
#include "arguments.h"
#include "scores.h"

#include <limits>

namespace tegula {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The tensors of one head.
struct Head {
  OperandViews Q, K;
  View V, O, L, m, l, acc;
};

void initialise(const AttentionConfig &c, const Head &at) {
  for (Value i : range(0, at.Q.views[0].dim(0), c.block_m)) {
    at.m.store(i, fill({c.block_m}, -infinity));          // [block_m]
    at.l.store(i, fill({c.block_m}, 0.0));                // [block_m]
    at.acc.store(i, fill({c.block_m, c.value_dim}, 0.0)); // [block_m, value_dim]
  }
}

/// Updates a block of queries with a block of keys (lines 9 to 13). Unlike OnlineSoftmax, it divides the output each
/// time.
void update(const AttentionConfig &c, const Head &at, Value i, Value s, Value v) {
  Value m = at.m.load(i, {c.block_m});                // [block_m]
  Value l = at.l.load(i, {c.block_m});                // [block_m]
  Value o = at.acc.load(i, {c.block_m, c.value_dim}); // [block_m, value_dim]

  Value m_new = max(m, rowMax(s));                                  // [block_m]
  Value shift = select(m_new == -infinity, 0.0, m_new);             // [block_m], 0 in rows that saw no key yet
  Value p = exp(s - asColumn(shift));                               // [block_m, block_n]
  Value alpha = exp(m - shift);                                     // [block_m]
  Value l_new = alpha * l + rowSum(p);                              // [block_m]
  Value divisor = select(l_new == 0.0, 1.0, l_new);                 // [block_m]
  Value pv = dot(cast(c.dtype, p), v);                              // [block_m, value_dim]
  Value o_new = (asColumn(alpha * l) * o + pv) / asColumn(divisor); // [block_m, value_dim]

  at.m.store(i, m_new);
  at.l.store(i, l_new);
  at.acc.store(i, o_new);
}

void finish(const AttentionConfig &c, const Head &at) {
  for (Value i : range(0, at.Q.views[0].dim(0), c.block_m)) {
    at.O.store(i, at.acc.load(i, {c.block_m, c.value_dim}));                   // [block_m, value_dim]
    at.L.store(i, at.m.load(i, {c.block_m}) + log(at.l.load(i, {c.block_m}))); // [block_m]
  }
}

void flash1Forward(const AttentionConfig &c, const Head &at, const Scores &scores, Value scale) {
  initialise(c, at);
  for (Value j : range(0, at.K.views[0].dim(0), c.block_n)) {
    const Operands k = at.K.load(j, c.block_n);       // [block_n, head_dim]
    Value v = at.V.load(j, {c.block_n, c.value_dim}); // [block_n, value_dim]
    ScoreStrip strip = scores.ofKeys(j);
    strip.visits().forEach([&](const Visit &tile) {
      Value i = tile.position;
      const Operands q = at.Q.load(i, c.block_m); // [block_m, head_dim]
      Value s = productOf(q, k) * scale;          // [block_m, block_n]
      update(c, at, i, strip.masked(s, tile), v);
    });
  }
  finish(c, at);
}

} // namespace

Expected<Program> recordFlash1Forward(const AttentionConfig &config) {
  auto kernel = [&config](View q, View k, View v, View o, View lse, View m, View l, View acc, Value scale,
                          VariantViews tensors) {
    Value head = programId(1);
    Value batch = programId(2);
    Value kv_head = kvHead(head, q, k);
    Head at = {queriesOf(config, q, tensors, batch, head),
               keysOf(config, k, tensors, batch, kv_head),
               v.at(batch, kv_head),
               o.at(batch, head),
               lse.at(batch, head),
               m.at(batch, head),
               l.at(batch, head),
               acc.at(batch, head)};
    flash1Forward(config, at, Scores(config, q, k.dim(2), batch, head, tensors), scale);
  };
  return recordList("flash1_forward", kernel, conditionTensors(config), tensor(config, "q"), tensor(config, "k"),
                    tensor(config, "v"), tensor(config, "o"), statistic("lse"), statistic("m"), statistic("l"),
                    accumulator("acc"), ScalarArg{"scale", f32});
}

} // namespace tegula
