// SPDX-License-Identifier: MIT
// The blocks of a block mask that calls give (AttentionForward::block_mask), on the host.
#pragma once

#include "oracle/oracle.h"
#include "tegula/attention.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace tegula::tools {

/// The blocks of keys that each row of blocks has. The lists of a row have the index
/// (batch * heads + head) * rows + row.
struct GivenBlocks {
  using Lists = std::vector<std::vector<int32_t>>;

  int64_t batch = 1, heads = 1; ///< 1 if all batch entries, or all heads, have the same lists.
  int64_t rows = 0;
  int64_t block_q = 128, block_k = 128; ///< Queries and keys of a block.
  Lists partial, full;

  /// Returns the block mask of a problem whose calls give these blocks.
  BlockMask mask() const;
  /// Returns the lists of a smaller shape, without the blocks that it does not have.
  GivenBlocks cropped(const AttentionShape &shape) const;
};

/// The lists of one kind, as calls pass them.
struct BlockArrays {
  std::vector<int32_t> counts;  ///< [batch, heads, rows]
  std::vector<int32_t> indices; ///< [batch, heads, rows, entries]
  int64_t entries = 1;          ///< The length of the longest list, and at least 1.
};
BlockArrays arraysOf(const GivenBlocks::Lists &lists);

/// Returns ModelledLaunch::is_listed for these blocks of `seqlen_k` keys. The lists of the first head stand for all.
std::function<bool(KeyInterval queries, KeyInterval keys)> listedTiles(const GivenBlocks &blocks, int64_t seqlen_k);

/// Adds the blocks to `rules` as another condition, for the heads of one batch entry from `first_head` on. In full
/// blocks the conditions of `masks` do not count; otherwise they are conditions, too.
void addBlocks(oracle::Rules &rules, const GivenBlocks &blocks, oracle::Rules masks, int64_t batch, int64_t first_head);

} // namespace tegula::tools
