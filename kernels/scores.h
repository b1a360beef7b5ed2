// SPDX-License-Identifier: MIT
// What all attention kernels share: which head a program works on, which keys a query sees, and the variant's part.
#pragma once

#include "tegula/attention_programs.h"

#include <functional>
#include <optional>

namespace tegula {

class ScoreStrip;

/// The scores of one (batch, query head).
class Scores {
public:
  Scores(const AttentionConfig &config, View q, View k, Value batch, Value head, VariantViews tensors);

  /// The first row of a block of queries, where block 0 starts first: the blocks that see the most keys come first, so
  /// that no long one is left for the end. Blocks larger than those of keys then end with the last query, and the one
  /// that has fewer rows than block_m, of which the first is negative, sees few keys. Others begin with the first
  /// query: as large as blocks of keys, they have one edge each then, and would have two.
  Value firstQuery(Value block) const;

  /// The scores of queries `row` to `row + block_m - 1`; the strip goes along the keys.
  ScoreStrip ofQueries(Value row) const;
  /// The scores of keys `key` to `key + block_n - 1`; the strip goes along the queries.
  ScoreStrip ofKeys(Value key) const;

private:
  friend class ScoreStrip;

  Interval keysFor(Value firstRow, Value lastRow) const;
  Interval queriesFor(Value key, Value lastKey) const;
  ScoreIndex at(Value row, Value key) const;

  const AttentionConfig &config_;
  std::vector<Band> bands_;
  HeadIndex head_;
  VariantViews tensors_;
};

/// A block of queries or of keys beside all positions of the other side, which the kernel visits block by block. What
/// belongs to the strip as a whole is computed where it is made: before the loop.
class ScoreStrip {
public:
  /// Where there may be scores: the blocks to visit begin at `begin`, and follow each other.
  Interval visited() const { return visited_; }
  /// Returns the position of the tile that is visited at `step`: `step` itself, or where the variant has a peak, from
  /// the tile beside that on, those before it last.
  Value position(Value step) const;

  // Of the tile at `position` along the strip.

  /// The variant's score modification.
  Value modify(Value s, Value position) const; // f32 [block_m, block_n]
  /// Where there are scores.
  Value allowed(Value position) const; // i1, broadcasts to [block_m, block_n]
  /// modify(s), and -inf where there is no score.
  Value masked(Value s, Value position) const; // f32 [block_m, block_n]

private:
  friend class Scores;
  enum class Of { queries, keys };
  struct Rotation {
    Value first; ///< i32: the tile that is visited first, and the end of the last one, counted from `visited_.begin`.
    Value round;
  };
  ScoreStrip(const Scores &scores, Of of, Value first, Value last, Interval visited);

  void beginBeside(Value position);
  ScoreIndex at(Value position) const;
  Value inRange(size_t range, Value position, const ScoreIndex &index) const;

  const Scores &scores_;
  Of of_;
  Value first_;
  Interval visited_;
  std::optional<Rotation> rotation_;
  std::vector<Interval> seenByAll_; ///< For each range: by every query or key of the strip.
};

/// Some rows of one query head. Block 0 comes first.
struct QueryBlock {
  Value batch, head, block;
};

/// Records `body` for the block of queries that a program instance works on, or for those one after another. If
/// instances take them from a counter, `counter` is one view.
void forQueryBlocks(const AttentionConfig &config, View q, std::span<const View> counter,
                    const std::function<void(const QueryBlock &)> &body);

/// Query heads that share one kv head.
Value groupSize(View q, View k);
/// The one that a query head shares.
Value kvHead(Value head, View q, View k);

/// A block of queries with the keys and values of its head.
struct ContainedBlock {
  Value q;      ///< [block_m, head_dim]
  View K, V, O; ///< Of one head.
  Value i;      ///< The first row.
};

/// Stores o of a block such that a NaN or an infinity in a value reaches only rows that see it (flash2_contain.cpp).
void storeWhereSeen(const AttentionConfig &c, const ContainedBlock &block, const ScoreStrip &strip, Value scale);

} // namespace tegula
