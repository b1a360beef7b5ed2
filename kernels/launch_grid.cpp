// SPDX-License-Identifier: MIT
#include "launch_grid.h"

#include "blocks.h"

#include <algorithm>
#include <limits>

namespace tegula {

/// Returns a * b, or the largest number if 64 bits cannot hold it. Both must be at least 0.
static int64_t saturatingProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

/// The most blocks of queries that a counter can count. It has 31 bits, and some numbers come after the last block: the
/// missing heads of the last group, and one number for each instance.
constexpr int64_t kMaxWork = (int64_t(1) << 31) - (int64_t(1) << 24);
/// The most program instances that a device launches along one axis.
constexpr int64_t kMaxGridX = (int64_t(1) << 31) - 1;

Grid launchGrid(GridRows rows, const AttentionShape &shape, const Schedule &schedule, int64_t concurrency) {
  const Grid queries = {blocks(shape.seqlen_q, schedule.block_m), shape.heads, shape.batch};
  switch (rows) {
  case GridRows::queries:
    return queries;
  case GridRows::scheduled: {
    if (!isPersistent(schedule))
      return queries;
    const int64_t all = saturatingProduct(saturatingProduct(queries.x, queries.y), queries.z);
    // If there are too many blocks to count, the grid is too large to launch, so that the device refuses it. An empty
    // grid would do nothing without an error.
    if (schedule.tile_scheduler == TileScheduler::dynamic_persistent && all > kMaxWork)
      return {std::max(all, kMaxGridX + 1), 1, 1};
    return {std::min(std::max<int64_t>(concurrency, 1), all), 1, 1};
  }
  case GridRows::keys:
    return {blocks(shape.seqlen_k, schedule.block_n), shape.kv_heads, shape.batch};
  case GridRows::none:
    return {1, shape.heads, shape.batch};
  }
  return {};
}

} // namespace tegula
