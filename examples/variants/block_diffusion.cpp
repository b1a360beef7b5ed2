// SPDX-License-Identifier: MIT
// Block diffusion (Arriola et al. 2025): noised tokens, then the same tokens without noise. A noised token sees its own
// noised block and earlier clean blocks. A clean token sees clean blocks up to its own.
#include "gallery.h"

namespace gallery {

VariantTrial blockDiffusion(const AttentionShape &shape) {
  const int64_t half = shape.seqlen_q / 2, block = shape.seqlen_q / 32;
  auto ownBlock = [=](Value token, const HeadIndex &, VariantViews) -> Interval {
    Value begin = token / block * block;
    return {begin, begin + block};
  };
  // For noised queries. Those of the other half have an empty interval, whose place keeps bounds in order.
  auto earlierClean = [=](Value query, const HeadIndex &, VariantViews) -> Interval {
    return {select(query < half, half, 2 * half), select(query < half, half + query / block * block, 2 * half)};
  };
  auto laterNoised = [=](Value key, const HeadIndex &, VariantViews) -> Interval {
    return {select(key < half, 0, key / block * block + (block - half)), select(key < half, 0, half)};
  };
  // For clean queries.
  auto cleanUpToOwn = [=](Value query, const HeadIndex &, VariantViews) -> Interval {
    return {constant(i32, half), select(query < half, half, query / block * block + block)};
  };
  auto cleanFromOwn = [=](Value key, const HeadIndex &, VariantViews) -> Interval {
    return {select(key < half, half, key / block * block), select(key < half, half, 2 * half)};
  };
  Variant variant{.name = "block_diffusion"};
  variant.any_of = {{.ranges = {{ownBlock, ownBlock}}},
                    {.ranges = {{earlierClean, laterNoised}}},
                    {.ranges = {{cleanUpToOwn, cleanFromOwn}}}};

  auto sees = [=](const ScorePosition &p) {
    const int64_t ofQuery = p.query % half / block, ofKey = p.key % half / block;
    if (p.key < half)
      return p.query < half && ofKey == ofQuery;
    return p.query < half ? ofKey < ofQuery : ofKey <= ofQuery;
  };
  return {.problem = {.variant = variant}, .shape = shape, .plain = {.sees = sees}};
}

} // namespace gallery
