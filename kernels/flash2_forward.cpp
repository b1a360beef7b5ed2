// SPDX-License-Identifier: MIT
// FlashAttention-2, forward (Dao 2023, Algorithm 1): one program instance per block of query rows; the keys stream
// past.
#include "arguments.h"
#include "scores.h"

namespace tegula {
namespace {

void flash2Forward(const AttentionConfig &c, View Q, View K, View V, View O, View L, Value scale,
                   VariantViews tensors) {
  Value head = programId(1);
  Value batch = programId(2);
  Value kv_head = head / groupSize(Q, K);
  Scores scores(c, Q, K, batch, head, tensors);
  Value i = scores.firstQuery(programId(0));
  View K_h = K.at(batch, kv_head);
  View V_h = V.at(batch, kv_head);

  Value q = Q.at(batch, head).load(i, {c.block_m, c.head_dim}); // [block_m, head_dim]
  OnlineSoftmax softmax(c.block_m, c.value_dim);
  Interval keys = scores.keysFor(i);
  for (Value j : range(keys.begin, keys.end, c.block_n)) {
    Value k = K_h.load(j, {c.block_n, c.head_dim});  // [block_n, head_dim]
    Value v = V_h.load(j, {c.block_n, c.value_dim}); // [block_n, value_dim]
    Value s = dot(q, transpose(k)) * scale;          // [block_m, block_n]
    softmax.update(scores.masked(s, i, j), v);
  }
  O.at(batch, head).store(i, softmax.output());    // [block_m, value_dim]
  L.at(batch, head).store(i, softmax.logSumExp()); // [block_m]
}

} // namespace

Expected<Program> recordFlash2Forward(const AttentionConfig &config) {
  auto kernel = [&config](View q, View k, View v, View o, View lse, Value scale, VariantViews tensors) {
    flash2Forward(config, q, k, v, o, lse, scale, tensors);
  };
  return recordList("flash2_forward", kernel, variantTensors(config), tensor(config, "q"), tensor(config, "k"),
                    tensor(config, "v"), tensor(config, "o"), statistic("lse"), ScalarArg{"scale", f32});
}

} // namespace tegula
