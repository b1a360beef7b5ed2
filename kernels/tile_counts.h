// SPDX-License-Identifier: MIT
// How many tiles kernels visit, as numbers on the host: scores.cpp and visits.cpp without a kernel, for the cost model.
#pragma once

#include "tegula/search_space.h"

namespace tegula {

/// Counts the tiles of one head that strips of a schedule visit.
class TileCounts {
public:
  /// `schedule` has both block sizes. All three must live as long as this.
  TileCounts(const AttentionProblem &problem, const ModelledLaunch &launch, const Schedule &schedule);

  /// Returns the number of tiles that queries `first` to `first + block_m - 1` visit. `first` may be negative.
  int64_t ofQueries(int64_t first) const;
  /// Returns the number of tiles that keys `first` to `first + block_n - 1` visit.
  int64_t ofKeys(int64_t first) const;

  /// Returns the average of ofQueries() over the blocks of queries. Of many blocks it takes a part.
  double averageOfQueries() const;
  /// Returns the average of ofKeys() over the blocks of keys.
  double averageOfKeys() const;

private:
  bool hasLists() const;
  /// Returns the number of tiles in the sets of the union, or in `common` if there is no union. If tiles are neither
  /// listed nor those of a union, they begin with `common`, rounded down to a multiple of `unit`.
  int64_t tilesIn(KeyInterval common, std::vector<KeyInterval> sets, int tile, int64_t unit,
                  const std::function<bool(int64_t)> &is_listed) const;
  int64_t shift(Alignment alignment) const;
  KeyInterval keysOf(const VisibleRange &range, int64_t query) const;
  KeyInterval keysOf(const KeySet &set, KeyInterval within, int64_t first, int64_t last) const;
  KeyInterval queriesOf(const KeySet &set, KeyInterval within, int64_t first, int64_t last) const;
  int64_t firstQueryWhere(const std::function<bool(const KeyInterval &keys)> &holds, const VisibleRange &range) const;

  const AttentionProblem &problem_;
  const ModelledLaunch &launch_;
  const Schedule &schedule_;
  KeySet common_; ///< The causal mask, and what the variant has besides any_of.
};

} // namespace tegula
