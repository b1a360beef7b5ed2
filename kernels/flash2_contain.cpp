// SPDX-License-Identifier: MIT
// The forward pass of FlashAttention-2 for blocks whose o is not finite. A NaN or an infinity in a value reaches only
// rows that see the value.
#include "arguments.h"
#include "scores.h"

namespace tegula {

/// Returns softmax(S) V, [block_m, value_dim].
static Value outputWhereSeen(const AttentionConfig &c, const RowBlock &block, const ScoreStrip &strip, Value scale) {
  OnlineSoftmax softmax = startSoftmax(c, block.sink);
  strip.visits().forEach([&](const Visit &tile) {
    Value j = tile.position;
    const Operands k = block.K.load(j, c.block_n);       // [block_n, head_dim]
    Value v = block.V.load(j, {c.block_n, c.value_dim}); // [block_n, value_dim]
    Value s = productOf(block.q, k) * scale;             // [block_m, block_n]
    softmax.updateWhereSeen(strip.masked(s, tile), v, strip.kept(tile));
  });
  return outputOf(c, softmax);
}

void storeWhereSeen(const AttentionConfig &c, const RowBlock &block, const ScoreStrip &strip, Value scale) {
  block.O.store(block.i, outputWhereSeen(c, block, strip, scale));
}

/// Computes the elements of o that are not finite again. Finite elements keep their bits.
static void flash2ForwardContain(const AttentionConfig &c, View Q, View K, View V, View O, Value scale,
                                 const ListedViews &views) {
  const KeyTensors keys(c, K, V, views.pages);
  Value batch = programId(2), head = programId(1), kv_head = kvHead(head, Q, keys.heads());
  Scores scores(c, Q, keys.count(), batch, head, views.tensors, views.lists);
  Value i = scores.firstQuery(programId(0));
  View O_h = O.at(batch, head);
  Value o = O_h.load(i, {c.block_m, c.value_dim}); // [block_m, value_dim]
  when(!allFinite(o), [&] {
    const RowBlock block = {.q = queriesOf(c, Q, views.tensors, batch, head).load(i, c.block_m),
                            .K = keys.keys(views.tensors, batch, kv_head),
                            .V = keys.values(batch, kv_head),
                            .O = O_h,
                            .i = i,
                            .sink = sinkOf(views.sinks, head)};
    Value again = outputWhereSeen(c, block, scores.ofQueries(i), scale); // [block_m, value_dim]
    O_h.store(i, select(isFinite(o), cast(f32, o), again));
  });
}

Expected<Program> recordFlash2ForwardContain(const AttentionConfig &config) {
  auto kernel = [&config](View q, View k, View v, View o, Value scale, VariantViews views) {
    flash2ForwardContain(config, q, k, v, o, scale, splitForward(config, views));
  };
  return recordList("flash2_forward_contain", kernel, forwardTensors(config), tensor(config, "q"), tensor(config, "k"),
                    tensor(config, "v"), tensor(config, "o"), ScalarArg{"scale", f32});
}

} // namespace tegula
