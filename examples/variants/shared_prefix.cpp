// SPDX-License-Identifier: MIT
// Requests lie one after another, and all of them read the same prefix before them. A token sees the prefix and its own
// request.
#include "gallery.h"

namespace gallery {

VariantTrial sharedPrefix(const AttentionShape &shape) {
  const int64_t request = shape.seqlen_q / 9, prefix = 2 * request;
  auto keysOfPrefix = [=](Value, const HeadIndex &, VariantViews) -> Interval {
    return {constant(i32, 0), constant(i32, prefix)};
  };
  auto queriesOfPrefix = [=](Value key, const HeadIndex &at, VariantViews) -> Interval {
    return {select(key < prefix, 0, at.seqlen_q), at.seqlen_q};
  };
  auto ownRequest = [=](Value token, const HeadIndex &, VariantViews) -> Interval {
    Value begin = token / request * request;
    return {begin, begin + request};
  };
  Variant variant{.name = "shared_prefix", .bands = {causalBand()}};
  variant.any_of = {{.ranges = {{keysOfPrefix, queriesOfPrefix}}}, {.ranges = {{ownRequest, ownRequest}}}};

  auto sees = [=](const ScorePosition &p) {
    return p.key <= p.query && (p.key < prefix || p.key / request == p.query / request);
  };
  return {.problem = {.variant = variant}, .shape = shape, .plain = {.sees = sees}};
}

} // namespace gallery
