// SPDX-License-Identifier: MIT
// Code that all attention kernels share: the head of a program instance, the keys that a query sees, and the variant.
#pragma once

#include "tegula/attention_programs.h"
#include "visits.h"

#include <functional>
#include <optional>

namespace tegula {

class ScoreStrip;

/// The scores of one query head in one entry of the batch.
class Scores {
public:
  Scores(const AttentionConfig &config, View q, View k, Value batch, Value head, VariantViews tensors);

  /// Returns the first row of a block of queries. Block 0 starts first. If later queries see more keys, block 0 has the
  /// last queries, so that no long block is left for the end.
  /// If blocks of queries are larger than blocks of keys, they end with the last query. The incomplete block, whose
  /// first row is negative, then sees few keys. Other blocks begin with the first query: each of them then has one
  /// block of keys on the mask boundary, and would otherwise have two.
  Value firstQuery(Value block) const;

  /// Returns the scores of queries `row` to `row + block_m - 1`. The strip goes along the keys.
  ScoreStrip ofQueries(Value row) const;
  /// Returns the scores of keys `key` to `key + block_n - 1`. The strip goes along the queries.
  ScoreStrip ofKeys(Value key) const;

private:
  friend class ScoreStrip;

  Visits keysFor(Value firstRow, Value lastRow) const;
  Visits queriesFor(Value key, Value lastKey) const;
  ScoreIndex at(Value row, Value key) const;

  const AttentionConfig &config_;
  std::vector<Band> bands_;
  HeadIndex head_;
  VariantViews tensors_;
};

/// A block of queries against all keys, or a block of keys against all queries, which the kernel visits tile by tile:
///
///   queries i to    +--------+--------+--------+
///   i + block_m - 1 |  tile  |  tile  |  tile  |    the tiles are block_n keys apart
///                   +--------+--------+--------+
///
/// Values that belong to the strip as a whole are computed when it is made, before the loop.
class ScoreStrip {
public:
  /// Returns the tiles in which there may be scores.
  const Visits &visits() const { return visits_; }

  // Methods for the tile at `position` along the strip:

  /// Returns `s` after the variant's score modification.
  Value modify(Value s, Value position) const; // f32 [block_m, block_n]
  /// Returns true where there are scores.
  Value allowed(Value position) const; // i1, broadcasts to [block_m, block_n]
  /// Returns modify(s), and -inf where there is no score.
  Value masked(Value s, Value position) const; // f32 [block_m, block_n]

private:
  friend class Scores;
  enum class Of { queries, keys };
  ScoreStrip(const Scores &scores, Of of, Value first, Value last, Visits visits);

  ScoreIndex at(Value position) const;
  Value inRange(size_t range, Value position, const ScoreIndex &index) const;

  const Scores &scores_;
  Of of_;
  Value first_;
  Visits visits_;
  std::vector<Interval> seenByAll_; ///< For each range, the positions that every query or key of the strip sees.
};

/// A block of queries of one query head. Block 0 comes first.
struct QueryBlock {
  Value batch, head, block;
};

/// Records `body` for the block of queries of a program instance, or, in a persistent kernel, for its blocks one after
/// another. If instances take blocks from a counter, `counter` is one view.
void forQueryBlocks(const AttentionConfig &config, View q, std::span<const View> counter,
                    const std::function<void(const QueryBlock &)> &body);

/// Returns the number of query heads that share one kv head.
Value queryHeadsPerKvHead(View q, View k);
/// Returns the kv head of a query head.
Value kvHead(Value head, View q, View k);

/// A block of queries with the keys and values of its head.
struct ContainedBlock {
  Value q;      ///< [block_m, head_dim]
  View K, V, O; ///< Views of one head.
  Value i;      ///< The first row.
};

/// Stores o of a block so that a NaN or an infinity in a value reaches only rows that see the value
/// (flash2_contain.cpp).
void storeWhereSeen(const AttentionConfig &c, const ContainedBlock &block, const ScoreStrip &strip, Value scale);

} // namespace tegula
