// SPDX-License-Identifier: MIT
// The tiles of scores that kernels visit, to see what a variant skips.
#pragma once

#include "tegula/attention.h"

#include <vector>

namespace tegula {

/// A tile of scores that a kernel visits.
struct VisitedTile {
  int64_t batch = 0;
  int64_t head = 0;  ///< The query head.
  int64_t query = 0; ///< The first query. It is negative if rows of the tile lie before query 0, where no query is.
  int64_t key = 0;   ///< The first key.
};

/// The tiles that flash2_forward or flash2_backward visits in all heads.
struct VisitedTiles {
  int block_m = 0;   ///< Queries of a tile.
  int block_n = 0;   ///< Keys of a tile.
  int64_t total = 0; ///< The number of tiles without any mask.
  std::vector<VisitedTile> tiles = {};

  /// Returns the visited tiles as a part of all.
  double share() const { return total == 0 ? 0 : double(tiles.size()) / double(total); }
};

/// Returns the tiles that a pass of a plan for `problem` visits, which a program finds as the pass does: by the same
/// bounds, and by the same lists if the problem has a block mask. `call` is that of AttentionPlan::makeLists, `given`
/// and `tuned` are those of AttentionPlan::make. Compiles, allocates on `device`, which is that of `cache`, and waits.
/// Returns invalid_argument if the problem's algorithm is not flash2, and the errors of make() and makeLists().
Expected<VisitedTiles> visitedTiles(const AttentionProblem &problem, Pass pass, const AttentionLists &call,
                                    KernelCache &cache, Device &device, const Schedule &given = {},
                                    const TunedConfigurations *tuned = nullptr) noexcept;

} // namespace tegula
