// SPDX-License-Identifier: MIT
// The scores or probabilities of a forward pass, as a tensor.
#include "arguments.h"
#include "scores.h"

#include <limits>

namespace tegula {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Returns P = exp(s - lse), negated where dropout drops it.
Value probabilitiesOf(const ScoreStrip &strip, const Visit &tile, Value s, Value lse) {
  Value p = exp(s - asColumn(select(lse == -infinity, infinity, lse))); // [block_m, block_n]
  const std::optional<Value> kept = strip.kept(tile);
  return kept ? select(*kept, p, -p) : p;
}

/// `lse` is one view if the output needs it.
void attentionScores(const AttentionConfig &c, View Q, View K, View S, Value scale, VariantViews tensors,
                     std::span<const View> blocks, std::span<const View> lse) {
  Value i = programId(0) * c.block_m, head = programId(1), batch = programId(2), kv_head = kvHead(head, Q, K);
  const Scores scores = Scores::withoutLists(c, Q, K, batch, head, tensors, blocks);
  const ScoreStrip strip = scores.ofQueries(i);
  const Operands q = queriesOf(c, Q, tensors, batch, head).load(i, c.block_m); // [block_m, head_dim]
  const OperandViews K_h = keysOf(c, K, tensors, batch, kv_head);
  View S_h = S.at(batch, head);
  for (Value j : range(0, K.dim(2), c.block_n)) {
    const Visit tile = {j};
    Value products = productOf(q, K_h.load(j, c.block_n)) * scale; // [block_m, block_n]
    if (c.scores_output == ScoresOutput::products) {
      S_h.store({i, j}, products);
      continue;
    }
    Value s = strip.masked(products, tile); // [block_m, block_n]
    S_h.store({i, j}, lse.empty() ? s : probabilitiesOf(strip, tile, s, lse[0].at(batch, head).load(i, {c.block_m})));
  }
}

} // namespace

Expected<Program> recordAttentionScores(const AttentionConfig &config) {
  std::vector<TensorArg> list = scoreTensors(config);
  const size_t tensors = list.size(), blocks = config.block_mask.source == BlockMask::Source::given ? 1 : 0;
  if (blocks != 0)
    list.push_back({"block_states", i32, 4});
  if (config.scores_output == ScoresOutput::probabilities)
    list.push_back(statistic("lse"));
  auto kernel = [&](View q, View k, View scores, Value scale, std::span<const View> views) {
    attentionScores(config, q, k, scores, scale, views.first(tensors), views.subspan(tensors, blocks),
                    views.subspan(tensors + blocks));
  };
  return recordList("attention_scores", kernel, list, tensor(config, "q"), tensor(config, "k"), accumulator("scores"),
                    ScalarArg{"scale", f32});
}

} // namespace tegula
