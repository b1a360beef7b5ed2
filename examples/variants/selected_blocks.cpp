// SPDX-License-Identifier: MIT
// The selected branch of native sparse attention (Yuan et al. 2025): each block of queries has a list of key blocks,
// for example those with the largest sums of scores. It always sees its own block. Attention is causal.
#include "gallery.h"

#include <algorithm>
#include <random>

namespace gallery {

VariantTrial selectedBlocks(const AttentionShape &shape) {
  const int64_t block = 32, blocks = shape.seqlen_q / block, count = std::min<int64_t>(blocks / 5, 16);
  Variant variant{.name = "selected_blocks",
                  .tensors = {{"selected", i32, {Axis::batch, Axis::heads, Axis::any, Axis::any}}}};
  variant.mask = [=](const ScoreIndex &at, VariantViews tensors) -> Value {
    Value ofQuery = at.query / block, ofKey = at.key / block;
    Var isSeen = ofQuery == ofKey;
    for (int64_t n = 0; n < count; ++n)
      isSeen = isSeen | (tensors[0].gather(at.batch, at.head, ofQuery, n) == ofKey);
    return isSeen;
  };

  std::minstd_rand random(1);
  VariantValues selected{{shape.batch, shape.heads, blocks, count}};
  for (int64_t n = 0; n < shape.batch * shape.heads * blocks * count; ++n)
    selected.values.push_back(float(int64_t(random()) % (n / count % blocks + 1)));
  auto sees = [=, list = selected.values, heads = shape.heads](const ScorePosition &p) {
    const auto row = list.begin() + ((p.batch * heads + p.head) * blocks + p.query / block) * count;
    const int64_t ofKey = p.key / block;
    return ofKey == p.query / block || std::find(row, row + count, float(ofKey)) != row + count;
  };
  return {.problem = {.causal = Causal::top_left,
                      .variant = variant,
                      .block_mask = {.source = BlockMask::Source::computed}},
          .shape = shape,
          .tensors = {selected},
          .plain = {.sees = sees}};
}

} // namespace gallery
