// SPDX-License-Identifier: MIT
// The selected branch of native sparse attention (Yuan et al. 2025): each block of queries has a list of key blocks,
// for example those with the largest sums of scores. It always sees its own block. Attention is causal.
#include "gallery.h"

#include <algorithm>
#include <random>
#include <set>

namespace gallery {

VariantTrial selectedBlocks(const AttentionShape &shape) {
  const int64_t block = std::clamp<int64_t>(shape.seqlen_q / 16, 32, 128), blocks = shape.seqlen_q / block;
  const int64_t count = std::min<int64_t>(blocks / 5, 16);
  const BlockMask lists{.source = BlockMask::Source::given,
                        .per_batch = true,
                        .per_head = true,
                        .block_q = int(block),
                        .block_k = int(block)};

  std::minstd_rand random(1);
  TrialBlocks selected;
  for (int64_t row = 0; row < shape.batch * shape.heads * blocks; ++row) {
    const int64_t own = row % blocks;
    std::set<int32_t> seen = {int32_t(own)};
    for (int64_t n = 0; n < count; ++n)
      seen.insert(int32_t(int64_t(random()) % (own + 1)));
    selected.full.emplace_back(seen.begin(), seen.end());
    selected.partial.emplace_back();
  }
  auto sees = [=, rows = selected.full, heads = shape.heads](const ScorePosition &p) {
    const std::vector<int32_t> &row = rows[size_t((p.batch * heads + p.head) * blocks + p.query / block)];
    return std::find(row.begin(), row.end(), int32_t(p.key / block)) != row.end();
  };
  return {.problem = {.causal = Causal::top_left, .block_mask = lists},
          .shape = shape,
          .blocks = selected,
          .plain = {.sees = sees}};
}

} // namespace gallery
