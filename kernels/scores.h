// SPDX-License-Identifier: MIT
// Code that all attention kernels share: the head of a program instance, the keys that a query sees, and the variant.
#pragma once

#include "operands.h"
#include "strips.h"
#include "tegula/attention_programs.h"
#include "visits.h"

#include <functional>
#include <optional>

namespace tegula {

class ScoreStrip;

/// The scores of one query head in one entry of the batch.
class Scores {
public:
  /// `tensors` begin with scoreTensors(), or with conditionTensors() if there is no dropout. `lists` are listTensors().
  Scores(const AttentionConfig &config, View q, View k, Value batch, Value head, VariantViews tensors,
         std::span<const View> lists = {});
  /// Without dropout. `tensors` are conditionTensors(). `blocks` is block_states, if the block mask is given. `lists`
  /// are visit_tiles and visit_counts, or none.
  Scores(const AttentionConfig &config, HeadIndex head, VariantViews tensors, std::span<const View> blocks,
         std::span<const View> lists = {});

  /// Returns scores of a program that visits tiles of its own, not listed ones. `tensors` are scoreTensors(). `blocks`
  /// is block_states, if the block mask is given.
  static Scores withoutLists(const AttentionConfig &config, View q, View k, Value batch, Value head,
                             VariantViews tensors, std::span<const View> blocks);

  /// Returns the first row of a block of queries. Block 0 starts first. If later queries see more keys, block 0 has the
  /// last queries, so that no long block is left for the end. With lists, blocks that
  /// list most tiles start first.
  /// If blocks of queries are larger than blocks of keys, they end with the last query. The incomplete block, whose
  /// first row is negative, then sees few keys. With dropout, blocks begin with the first query, so that their rows are
  /// rows of blocks of random numbers. Other blocks begin with the first query: each of them then has one
  /// block of keys on the mask boundary, and would otherwise have two.
  Value firstQuery(Value block) const;
  /// Returns the queries of a block, which begins at firstQuery() unless `strips`, stripTensors(), list it.
  BlockRows queriesOf(Value block, std::span<const View> strips) const;

  /// Returns the scores of queries `row` to `row + block_m - 1`. The strip goes along the keys.
  ScoreStrip ofQueries(Value row) const;
  ScoreStrip ofQueries(const BlockRows &rows) const;
  /// Returns the scores of keys `key` to `key + block_n - 1`. The strip goes along the queries.
  ScoreStrip ofKeys(Value key) const;
  ScoreStrip ofKeys(const BlockRows &keys) const;

private:
  friend class ScoreStrip;

  struct Dropout {
    View state; ///< i64 [2]: seed and offset.
    Value heads;
  };

  bool hasUnion() const { return !config_.variant.any_of.empty(); }
  Interval keysOf(const KeySet &set, Interval within, Value firstRow, Value lastRow) const;
  Interval queriesOf(const KeySet &set, Interval within, Value firstKey, Value lastKey) const;
  Visits keysFor(Value firstRow, Value lastRow) const;
  Visits queriesFor(Value key, Value lastKey) const;
  Visits listed(Value first, int strip, int tile) const;
  ScoreIndex at(Value row, Value key) const;

  const AttentionConfig &config_;
  KeySet common_; ///< The causal mask, and what the variant has besides any_of.
  HeadIndex head_;
  VariantViews tensors_;
  std::span<const View> lists_, blocks_;
  std::optional<Dropout> dropout_;
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

  /// Returns `s` after the variant's score modification.
  Value modify(Value s, const Visit &tile) const; // f32 [block_m, block_n]
  /// Returns `p` after the variant's modification of probabilities.
  Value modifyProbability(Value p, const Visit &tile) const; // f32 [block_m, block_n]
  /// Returns true where there are scores.
  Value allowed(const Visit &tile) const; // i1, broadcasts to [block_m, block_n]
  /// Returns the entry of block_states for each score: a scalar if the tile lies in one block. Only if blocks are
  /// given.
  Value blockState(Value position) const; // i32, broadcasts to [block_m, block_n]
  /// Returns modify(s), and -inf where there is no score.
  Value masked(Value s, const Visit &tile) const; // f32 [block_m, block_n]
  /// Returns true where dropout keeps P; none without dropout.
  std::optional<Value> kept(const Visit &tile) const; // i1 [block_m, block_n]

private:
  friend class Scores;
  enum class Of { queries, keys };
  ScoreStrip(const Scores &scores, Of of, Value first, Value last, Value keysEnd, Visits visits);

  ScoreIndex at(Value position) const;
  void findSeenByAll(Value last);
  Value isIn(const Interval &seen, Value position) const;
  Value exists(Value position) const;
  Value existsInUnion(Value position, const ScoreIndex &index) const;
  std::optional<Value> unmasked(Value position, const ScoreIndex &index) const;
  Value inRange(const VisibleRange &range, const ScoreIndex &index) const;
  Value inRange(size_t range, Value position, const ScoreIndex &index) const;
  Value inSet(const KeySet &set, const ScoreIndex &index) const;

  const Scores &scores_;
  Of of_;
  Value first_, keysEnd_; ///< A tile has no scores of keys from `keysEnd_` on.
  Visits visits_;
  /// The positions that every query or key of the strip sees by a range, for each range; none if its bounds do not
  /// tell. If there is a union: by all conditions except masks, for each set of the union.
  std::vector<std::optional<Interval>> seenByAll_;
};

/// Returns the part of a list tensor that belongs to a head.
View listsOfHead(View lists, ListAxes axes, Value batch, Value head);

/// Returns the tiles of queries that visit a block of keys. If additions to dQ have a fixed order, tiles begin at
/// multiples of block_m, so that those of all blocks of keys are the same tiles.
Visits visitsOfKeys(const AttentionConfig &config, const ScoreStrip &strip);

/// A block of queries of one query head. Block 0 comes first.
struct QueryBlock {
  Value batch, head, block;
};

/// Records `body` for the block of queries of a program instance, or, in a persistent kernel, for its blocks one after
/// another. `strips` are stripTensors(). If instances take blocks from a counter, `counter` is one view.
void forQueryBlocks(const AttentionConfig &config, View q, std::span<const View> strips, std::span<const View> counter,
                    const std::function<void(const QueryBlock &)> &body);

/// Returns what a problem intersects with the union of its variant.
KeySet commonKeys(Causal causal, const Variant &variant);
/// Returns true if later queries may see more keys.
bool laterQueriesSeeMore(Causal causal, const Variant &variant);

/// Returns the number of query heads that share one kv head.
Value queryHeadsPerKvHead(View q, View k);
/// Returns the kv head of a query head.
Value kvHead(Value head, View q, View k);

/// Returns the output of a softmax, whose kept elements count more if others were dropped.
inline Value outputOf(const AttentionConfig &config, const OnlineSoftmax &softmax) {
  return config.dropsOut() ? softmax.output() * config.keptFactor() : softmax.output();
}

/// Returns the sink of a query head; none if `sinks` has no view.
std::optional<Value> sinkOf(std::span<const View> sinks, Value head);
/// Begins the softmax of a block of queries.
OnlineSoftmax startSoftmax(const AttentionConfig &config, const std::optional<Value> &sink);

/// A block of queries with the keys and values of its head.
struct RowBlock {
  Operands q;                ///< [block_m, head_dim]
  OperandViews K;            ///< Views of one head.
  View V, O;                 ///< Views of the same head.
  Value i;                   ///< The first row.
  std::optional<Value> sink; ///< The sink of the head.
};

/// Stores o of a block so that a NaN or an infinity in a value reaches only rows that see the value
/// (flash2_contain.cpp).
void storeWhereSeen(const AttentionConfig &c, const RowBlock &block, const ScoreStrip &strip, Value scale);

/// Returns lse of block_m rows for P = exp(S - lse) in the backward pass. It is +inf in rows that have no P: those that
/// see no key, and in 16 bits those whose lse is so far from 0 that its rounding error leaves P no digit.
Value lseOfP(const AttentionConfig &c, View L, Value i); // f32 [block_m]

} // namespace tegula
