// SPDX-License-Identifier: MIT
#include "launch_grid.h"

#include "blocks.h"

#include <algorithm>
#include <limits>

namespace tegula {

/// Both are at least 0. A product that is too large for 64 bits is the largest number.
static int64_t saturatingProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

/// A counter has 31 bits, some of which are for numbers behind the last block: those of a group's missing heads, and
/// one for each instance.
constexpr int64_t kMaxWork = (int64_t(1) << 31) - (int64_t(1) << 24);

Grid launchGrid(GridRows rows, const AttentionShape &shape, const Schedule &schedule, int64_t concurrency) {
  const Grid queries = {blocks(shape.seqlen_q, schedule.block_m), shape.heads, shape.batch};
  switch (rows) {
  case GridRows::queries:
    return queries;
  case GridRows::scheduled: {
    if (!isPersistent(schedule))
      return queries;
    const int64_t all = saturatingProduct(saturatingProduct(queries.x, queries.y), queries.z);
    // What does not fit at all is the device's to refuse: an empty grid would do nothing and say so to nobody.
    const bool isCountable = schedule.tile_scheduler != TileScheduler::dynamic_persistent || all <= kMaxWork;
    return {isCountable ? std::min(std::max<int64_t>(concurrency, 1), all) : all, 1, 1};
  }
  case GridRows::keys:
    return {blocks(shape.seqlen_k, schedule.block_n), shape.kv_heads, shape.batch};
  case GridRows::none:
    return {1, shape.heads, shape.batch};
  }
  return {};
}

} // namespace tegula
