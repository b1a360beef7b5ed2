// SPDX-License-Identifier: MIT
#include "launch_grid.h"

#include "tegula/kernel_spec.h"

namespace tegula {

/// The most blocks of queries that a counter can count. It has 31 bits, and some numbers come after the last block: the
/// missing heads of the last group, and one number for each instance.
constexpr int64_t kMaxWork = (int64_t(1) << 31) - (int64_t(1) << 24);
/// The most program instances that a device launches along one axis.
constexpr int64_t kMaxGridX = (int64_t(1) << 31) - 1;

/// The most kv heads whose listed blocks of keys start together, longest first. The queries and the gradients of few
/// heads stay in the L2 cache.
constexpr int kHeadsOfStrips = 4;

/// Returns how many kv heads alternate, at most `wanted`. The number divides that of kv heads.
static Size headsTogether(const Size &wanted, const Size &kv_heads) {
  Size together = 1;
  for (int64_t heads : {2, 4, 8, 16, 32, 64})
    together = select((heads <= wanted) & (kv_heads % heads == 0), heads, together);
  return together;
}

/// Returns how many kv heads alternate so that the instances of a head that run at the same time have started one after
/// another: about as many as have all of their blocks on the device.
static Size headsInOrder(const Size &blocks, const Size &kv_heads) {
  return headsTogether(ceilDiv(max(concurrency(), 1), max(blocks, 1)), kv_heads);
}

std::array<Size, 3> launchGrid(GridRows rows, const Schedule &schedule, const std::optional<Size> &strips) {
  const Size batch("batch"), heads("heads"), kv_heads("kv_heads"), seqlen_q("seqlen_q"), seqlen_k("seqlen_k");
  const std::array<Size, 3> queries = {strips.value_or(ceilDiv(seqlen_q, schedule.block_m)), heads, batch};
  switch (rows) {
  case GridRows::queries:
    return queries;
  case GridRows::scheduled: {
    if (!isPersistent(schedule))
      return queries;
    const Size all = queries[0] * queries[1] * queries[2], resident = min(max(concurrency(), 1), all);
    if (schedule.tile_scheduler != TileScheduler::dynamic_persistent)
      return {resident, 1, 1};
    // If there are too many blocks to count, the grid is too large to launch, so that the device refuses it. An empty
    // grid would do nothing without an error.
    return {select(all > kMaxWork, max(all, kMaxGridX + 1), resident), 1, 1};
  }
  case GridRows::keys: {
    if (!strips)
      return {ceilDiv(seqlen_k, schedule.block_n), kv_heads, batch};
    const Size together = headsTogether(kHeadsOfStrips, kv_heads);
    return {together, *strips, kv_heads / together * batch};
  }
  case GridRows::ordered_keys: {
    const Size blocks = ceilDiv(seqlen_k, schedule.block_n), together = headsInOrder(blocks, kv_heads);
    return {together, blocks, kv_heads / together * batch};
  }
  case GridRows::block_rows:
    return {Size("block_rows"), Size("block_heads"), Size("block_batch")};
  case GridRows::strips:
    return {Size("strips"), Size("list_heads"), Size("list_batch")};
  case GridRows::tiles:
    return {Size("tiles"), Size("list_heads"), Size("list_batch")};
  case GridRows::sequences:
    return {Size("offsets"), 1, 1};
  case GridRows::heads:
    return {heads, 1, 1};
  case GridRows::none:
    return {1, heads, batch};
  }
  return {1, 1, 1};
}

} // namespace tegula
