// SPDX-License-Identifier: MIT
// Attention whose variant modifies probabilities: O = g(P) V. The sum of a row of g(P) is not 1, so that P must be
// known before it is modified. Two loops over the keys therefore follow each other.
#include "arguments.h"
#include "scores.h"

#include <limits>

namespace tegula {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Loads the keys of a tile and returns its scores, [block_m, block_n].
Value scoresOf(const AttentionConfig &c, const Operands &q, const OperandViews &K, const ScoreStrip &strip,
               const Visit &tile, Value scale) {
  return strip.masked(productOf(q, K.load(tile.position, c.block_n)) * scale, tile);
}

/// The maximum of each row, and the sum of exp(s - maximum), f32 [block_m].
struct RowStatistics {
  Value m, l;

  /// Returns the maximum, and 0 in rows without a score.
  Value shift() const { return select(m == -infinity, 0.0, m); }
};

RowStatistics statisticsOf(const AttentionConfig &c, const RowBlock &block, const ScoreStrip &strip, Value scale) {
  Var m = fill({c.block_m}, -infinity), l = fill({c.block_m}, 0.0); // [block_m]
  if (block.sink) {
    m = broadcast(*block.sink, {c.block_m});
    l = broadcast(select(*block.sink == -infinity, 0.0, 1.0), {c.block_m});
  }
  strip.visits().forEach([&](const Visit &tile) {
    Value s = scoresOf(c, block.q, block.K, strip, tile, scale); // [block_m, block_n]
    const Value before = m;
    m = max(m, rowMax(s));
    Value shift = select(m == -infinity, 0.0, m);
    l = l * exp(before - shift) + rowSum(exp(s - asColumn(shift)));
  });
  return {m, l};
}

/// Returns true where there is a score that dropout keeps. `s` are the scores of the tile.
Value seenIn(const ScoreStrip &strip, const Visit &tile, Value s) {
  const std::optional<Value> kept = strip.kept(tile);
  return kept ? (s != -infinity) & *kept : s != -infinity;
}

/// Returns the sum of g(P) V, [block_m, value_dim]. If `contains`, what a row does not see adds nothing to it.
Value modifiedOutput(const AttentionConfig &c, const RowBlock &block, const ScoreStrip &strip, Value scale,
                     const RowStatistics &row, bool contains) {
  Value shift = row.shift(), inverse = 1.0 / select(row.l == 0.0, 1.0, row.l); // [block_m]
  Var o = fill({c.block_m, c.value_dim}, 0.0);                                 // [block_m, value_dim]
  strip.visits().forEach([&](const Visit &tile) {
    Value s = scoresOf(c, block.q, block.K, strip, tile, scale);     // [block_m, block_n]
    Value p = exp(s - asColumn(shift)) * asColumn(inverse);          // [block_m, block_n]
    Value v = block.V.load(tile.position, {c.block_n, c.value_dim}); // [block_n, value_dim]
    Value seen = seenIn(strip, tile, s);                             // [block_m, block_n]
    Value factor = cast(c.dtype, select(seen, strip.modifyProbability(p, tile), 0.0));
    o = contains ? dotWhere(seen, factor, v, o) : dot(factor, v, o);
  });
  return c.dropsOut() ? o * c.keptFactor() : Value(o);
}

/// Computes delta = rowsum(P dP) of a block of queries. dP is the gradient with respect to P before its modification.
void flash2BackwardDelta(const AttentionConfig &c, View Q, View K, View V, View dO, View L, View delta, Value scale,
                         VariantViews tensors, std::span<const View> blocks) {
  Value i = programId(0) * c.block_m, head = programId(1), batch = programId(2), kv_head = kvHead(head, Q, K);
  const Scores scores = Scores::withoutLists(c, Q, K, batch, head, tensors, blocks);
  const ScoreStrip strip = scores.ofQueries(i);
  const Operands q = queriesOf(c, Q, tensors, batch, head).load(i, c.block_m); // [block_m, head_dim]
  const OperandViews K_h = keysOf(c, K, tensors, batch, kv_head);
  View V_h = V.at(batch, kv_head);
  Value do_i = dO.at(batch, head).load(i, {c.block_m, c.value_dim}); // [block_m, value_dim]
  Value lse = lseOfP(c, L.at(batch, head), i);                       // [block_m]
  Var sum = fill({c.block_m}, 0.0);                                  // [block_m]
  // Given blocks have whole tiles that begin at multiples of block_n.
  const Visits visits = blocks.empty() ? strip.visits() : strip.visits().aligned();
  visits.forEach([&](const Visit &tile) {
    Value s = scoresOf(c, q, K_h, strip, tile, scale);                            // [block_m, block_n]
    Value p = exp(s - asColumn(lse));                                             // [block_m, block_n]
    Value v = V_h.load(tile.position, {c.block_n, c.value_dim});                  // [block_n, value_dim]
    Value seen = seenIn(strip, tile, s);                                          // [block_m, block_n]
    Value incoming = select(seen, dot(do_i, transpose(v)) * c.keptFactor(), 0.0); // [block_m, block_n]
    Value dp = differentiate(strip.modifyProbability(p, tile), p, incoming, {});  // [block_m, block_n]
    sum = sum + rowSum(select(seen, p * dp, 0.0));
  });
  delta.at(batch, head).store(i, sum);
}

} // namespace

void flash2Modified(const AttentionConfig &c, View Q, View K, View V, View O, View L, Value scale,
                    const ListedViews &views, const QueryBlock &at) {
  auto [batch, head, number] = at;
  const KeyTensors keys(c, K, V, views.pages);
  Value kv_head = kvHead(head, Q, keys.heads());
  const Scores scores(c, Q, keys.count(), batch, head, views.tensors, views.lists);
  Value i = scores.firstQuery(number);
  const RowBlock block = {.q = queriesOf(c, Q, views.tensors, batch, head).load(i, c.block_m),
                          .K = keys.keys(views.tensors, batch, kv_head),
                          .V = keys.values(batch, kv_head),
                          .O = O.at(batch, head),
                          .i = i,
                          .sink = sinkOf(views.sinks, head)};
  const ScoreStrip strip = scores.ofQueries(i);
  const RowStatistics row = statisticsOf(c, block, strip, scale);
  Value o = modifiedOutput(c, block, strip, scale, row, /*contains=*/false); // [block_m, value_dim]
  block.O.store(i, o);
  L.at(batch, head).store(i, row.m + log(row.l)); // [block_m]
  if (c.contain_nonfinite)
    when(!allFinite(o), [&] { block.O.store(i, modifiedOutput(c, block, strip, scale, row, /*contains=*/true)); });
}

Expected<Program> recordFlash2BackwardDelta(const AttentionConfig &config) {
  auto kernel = [&config](View q, View k, View v, View d_o, View lse, View delta, Value scale, VariantViews views) {
    const size_t tensors = scoreTensors(config).size();
    flash2BackwardDelta(config, q, k, v, d_o, lse, delta, scale, views.first(tensors), views.subspan(tensors));
  };
  std::vector<TensorArg> list = scoreTensors(config);
  if (config.block_mask.source == BlockMask::Source::given)
    list.push_back({"block_states", i32, 4});
  return recordList("flash2_backward_delta", kernel, list, tensor(config, "q"), tensor(config, "k"),
                    tensor(config, "v"), tensor(config, "d_o"), statistic("lse"), statistic("delta"),
                    ScalarArg{"scale", f32});
}

} // namespace tegula
