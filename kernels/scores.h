// SPDX-License-Identifier: MIT
// What all attention kernels share: which head a program works on, which keys a query sees, and the variant's part.
#pragma once

#include "tegula/attention_programs.h"

#include <functional>

namespace tegula {

/// Positions `begin` to `end - 1`; empty if end <= begin.
struct Interval {
  Value begin;
  Value end;
};

/// The scores of one (batch, query head).
class Scores {
public:
  Scores(const AttentionConfig &config, View q, View k, Value batch, Value head, VariantViews tensors);

  /// The first row of a block of queries, where block 0 starts first: the blocks that see the most keys come first, so
  /// that no long one is left for the end.
  Value firstQuery(Value block) const;

  /// The keys that any of the queries `row` to `row + block_m - 1` may see.
  Interval keysFor(Value row) const;
  /// The queries that may see any of the keys `key` to `key + block_n - 1`.
  Interval queriesFor(Value key) const;

  /// The variant's score modification of the tile at (row, key).
  Value modify(Value s, Value row, Value key) const; // f32 [block_m, block_n]
  /// Where the tile at (row, key) has scores.
  Value allowed(Value row, Value key) const; // i1, broadcasts to [block_m, block_n]
  /// modify(s), and -inf where there is no score.
  Value masked(Value s, Value row, Value key) const; // f32 [block_m, block_n]

private:
  ScoreIndex at(Value row, Value key) const;
  Value shift(const Band &band) const; // From a query to the key beside it.

  const AttentionConfig &config_;
  std::vector<Band> bands_;
  Value batch_, head_, seqlen_q_, seqlen_k_;
  VariantViews tensors_;
};

/// Some rows of one query head. Block 0 comes first.
struct QueryBlock {
  Value batch, head, block;
};

/// Records `body` for the block of queries that a program instance works on, or for those one after another.
void forQueryBlocks(const AttentionConfig &config, View q, const std::function<void(const QueryBlock &)> &body);

/// Query heads that share one kv head.
Value groupSize(View q, View k);
/// The one that a query head shares.
Value kvHead(Value head, View q, View k);

} // namespace tegula
