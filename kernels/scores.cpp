// SPDX-License-Identifier: MIT
#include "scores.h"

#include <algorithm>
#include <limits>

namespace tegula {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<Band> bandsOf(const AttentionConfig &config) {
  std::vector<Band> bands = config.variant.bands;
  if (config.causal == Causal::top_left)
    bands.push_back({std::nullopt, 0, Alignment::top_left});
  if (config.causal == Causal::bottom_right)
    bands.push_back({std::nullopt, 0, Alignment::bottom_right});
  return bands;
}

} // namespace

Value HeadIndex::shift(Alignment alignment) const {
  return alignment == Alignment::top_left ? constant(DType::index, 0) : seqlen_k - seqlen_q;
}

Value ScoreIndex::diagonal(Alignment alignment) const {
  return alignment == Alignment::top_left ? query : query + shift(alignment);
}

// Numbers of heads and blocks have 32 bits, because divisions of 64 bits take longer than the start of a tile should.
static Value narrow(Value x) { return cast(i32, x); }
static Value wide(Value x) { return cast(DType::index, x); }

Value queryHeadsPerKvHead(View q, View k) { return wide(narrow(q.dim(1)) / narrow(k.dim(1))); }
Value kvHead(Value head, View q, View k) { return wide(narrow(head) / narrow(queryHeadsPerKvHead(q, k))); }

namespace {
/// The blocks of queries of all heads.
class QueryBlocks {
public:
  QueryBlocks(const AttentionConfig &config, View q)
      : headsInL2_(config.heads_in_l2), heads_(narrow(q.dim(1))), allHeads_(narrow(q.dim(0)) * heads_),
        perHead_(narrow((q.dim(2) + (config.block_m - 1)) / config.block_m)) {}

  Value perHead() const { return perHead_; }
  Value allHeads() const { return allHeads_; }

  /// Returns the work index of an instance of a grid {blocks, heads, batch}.
  Value ofInstance() const {
    return (narrow(programId(2)) * heads_ + narrow(programId(1))) * perHead_ + narrow(programId(0));
  }

  /// Returns the block with a work index, in the order of Schedule::heads_in_l2.
  QueryBlock ofNumber(Value number) const {
    if (headsInL2_ == 1) {
      Value head = number / perHead_;
      return at(head, number - head * perHead_);
    }
    Value first = firstHead(number), rest = number - first * perHead_;
    Value heads = min(allHeads_ - first, headsInL2_), head = first + rest % heads;
    return at(head, rest / heads);
  }

  /// Returns the block with a work index if the last group counts as many heads as the others. This takes one divisor
  /// less in registers, but some work indices then have no block.
  QueryBlock ofWork(Value number) const {
    if (headsInL2_ == 1)
      return ofNumber(number);
    Value first = firstHead(number), rest = number - first * perHead_;
    Value head = first + rest % headsInL2_;
    return at(head, select(head < allHeads_, rest / headsInL2_, perHead_));
  }
  Value allWork() const { return (allHeads_ + headsInL2_ - 1) / headsInL2_ * headsInL2_ * perHead_; }

  /// Returns a block of queries of a head. Block perHead() stands for none.
  QueryBlock at(Value head, Value block) const { return {wide(head / heads_), wide(head % heads_), wide(block)}; }

private:
  Value firstHead(Value number) const { return number / (perHead_ * headsInL2_) * headsInL2_; }

  int headsInL2_;
  Value heads_, allHeads_, perHead_;
};
} // namespace

/// Records `body` for a fixed sequence of blocks. Later blocks see fewer keys, but all instances have as much to do:
/// the instance with the longest block of one wave has the shortest of the next. A group of heads takes two waves if it
/// can. If heads have few blocks, a wave takes all blocks of a head, which read the same keys. Keys then come from
/// memory as fast as they are needed, and not all in the first of two waves.
static void forStaticBlocks(const QueryBlocks &blocks, const std::function<void(const QueryBlock &)> &body) {
  constexpr int few = 8;
  Value programs = narrow(numPrograms(0)), perHead = blocks.perHead();
  Value here = narrow(programId(0)), back = programs - 1 - here;
  Value group = min(max(2 * programs / perHead, 1), blocks.allHeads()), inGroup = group * perHead;
  Value rounds = (inGroup + (programs - 1)) / programs;
  Value groups = (blocks.allHeads() + group - 1) / group;
  Value areFew = perHead <= few, divisor = select(areFew, perHead, group);
  for (Value step : parallelRange(0, wide(groups * rounds))) {
    Value round = narrow(step) % rounds, first = narrow(step) / rounds * group;
    Value number = round * programs + select(round % 2 == 0, here, back);
    Value major = number / divisor, minor = number % divisor;
    Value head = first + select(areFew, major, minor), isHead = head < blocks.allHeads();
    Value block = select(areFew, minor, major), exists = isHead & (number < inGroup);
    body(blocks.at(head, select(exists, block, perHead)));
  }
}

/// Records `body` for blocks that instances take from `counter`. An instance that is free takes the next one.
static void forDynamicBlocks(const QueryBlocks &blocks, View counter,
                             const std::function<void(const QueryBlock &)> &body) {
  for (Value number : dynamicRange(counter, blocks.allWork()))
    body(blocks.ofWork(number));
}

void forQueryBlocks(const AttentionConfig &config, View q, std::span<const View> counter,
                    const std::function<void(const QueryBlock &)> &body) {
  if (config.tile_scheduler == TileScheduler::single_tile && config.heads_in_l2 == 1)
    return body({programId(2), programId(1), programId(0)});
  QueryBlocks blocks(config, q);
  if (config.isDynamic())
    return forDynamicBlocks(blocks, counter.front(), body);
  if (config.tile_scheduler == TileScheduler::static_persistent)
    return forStaticBlocks(blocks, body);
  body(blocks.ofNumber(blocks.ofInstance()));
}

//===-- Scores ---------------------------------------------------------------------------------------------------===//

Scores::Scores(const AttentionConfig &config, View q, View k, Value batch, Value head, VariantViews tensors)
    : config_(config), bands_(bandsOf(config)), head_{batch, head, q.dim(2), k.dim(2)}, tensors_(tensors) {}

Value Scores::firstQuery(Value block) const {
  bool laterSeeMore =
      !config_.variant.ranges.empty() ||
      std::any_of(bands_.begin(), bands_.end(), [](const Band &band) { return band.right.has_value(); });
  if (!laterSeeMore)
    return block * config_.block_m;
  if (config_.block_m > config_.block_n)
    return head_.seqlen_q - (block + 1) * config_.block_m;
  Value blocks = (head_.seqlen_q + (config_.block_m - 1)) / config_.block_m;
  return (blocks - 1 - block) * config_.block_m;
}

Visits Scores::keysFor(Value firstRow, Value lastRow) const {
  Var begin = constant(DType::index, 0);
  Var end = head_.seqlen_k;
  Value row = max(firstRow, 0);
  for (const Band &band : bands_) {
    if (band.left)
      begin = max(begin, row + head_.shift(band.alignment) - *band.left);
    if (band.right)
      end = min(end, lastRow + 1 + head_.shift(band.alignment) + *band.right);
  }
  for (const VisibleRange &range : config_.variant.ranges) {
    begin = max(begin, config_.variant.keysAt(range, row, head_, tensors_).begin);
    end = min(end, config_.variant.keysAt(range, lastRow, head_, tensors_).end);
  }
  if (config_.tile_scheduler != TileScheduler::single_tile) // Some blocks of the schedule have no rows.
    end = select(min(lastRow, head_.seqlen_q - 1 - row) >= 0, end, begin);
  return {{begin, end}, config_.block_n};
}

Visits Scores::queriesFor(Value key, Value lastKey) const {
  Var begin = constant(DType::index, 0);
  Var end = head_.seqlen_q;
  for (const Band &band : bands_) {
    if (band.right)
      begin = max(begin, key - head_.shift(band.alignment) - *band.right);
    if (band.left)
      end = min(end, lastKey + 1 - head_.shift(band.alignment) + *band.left);
  }
  for (const VisibleRange &range : config_.variant.ranges) {
    begin = max(begin, config_.variant.queriesAt(range, key, head_, tensors_).begin);
    end = min(end, config_.variant.queriesAt(range, lastKey, head_, tensors_).end);
  }
  constexpr int unit = 4; // TMA copies row statistics, 4 bytes each, only from multiples of 16 bytes.
  return {{begin / unit * unit, end}, config_.block_m};
}

ScoreIndex Scores::at(Value row, Value key) const {
  return {head_, asColumn(row + iota(config_.block_m)), asRow(key + iota(config_.block_n)), config_.dtype};
}

ScoreStrip Scores::ofQueries(Value row) const {
  Value last = min(row + config_.block_m, head_.seqlen_q) - 1;
  const Visits visits = keysFor(row, last);
  const std::optional<Alignment> &peak = config_.variant.peak;
  return {*this, ScoreStrip::Of::queries, row, last, peak ? visits.beginningWith(row + head_.shift(*peak)) : visits};
}

ScoreStrip Scores::ofKeys(Value key) const {
  Value last = min(key + config_.block_n, head_.seqlen_k) - 1;
  return {*this, ScoreStrip::Of::keys, key, last, queriesFor(key, last)};
}

//===-- ScoreStrip -----------------------------------------------------------------------------------------------===//

ScoreStrip::ScoreStrip(const Scores &scores, Of of, Value first, Value last, Visits visits)
    : scores_(scores), of_(of), first_(first), visits_(visits) {
  const HeadIndex &head = scores.head_;
  const Variant &variant = scores.config_.variant;
  if (variant.ranges.empty())
    return;
  // If a strip of keys reaches beyond the last key, no position is seen by all of it.
  Value end =
      of == Of::queries ? head.seqlen_k : select(first + scores.config_.block_n <= head.seqlen_k, head.seqlen_q, 0);
  auto bounds = [&](const VisibleRange &range, Value position) {
    return of == Of::queries ? variant.keysAt(range, position, head, scores.tensors_)
                             : variant.queriesAt(range, position, head, scores.tensors_);
  };
  for (const VisibleRange &range : variant.ranges)
    seenByAll_.push_back({narrow(bounds(range, last).begin), narrow(min(bounds(range, first).end, end))});
}

ScoreIndex ScoreStrip::at(Value position) const {
  return of_ == Of::queries ? scores_.at(first_, position) : scores_.at(position, first_);
}

Value ScoreStrip::modify(Value s, Value position) const {
  const Variant &variant = scores_.config_.variant;
  return variant.score ? variant.scoreAt(s, at(position), scores_.tensors_) : s;
}

/// Returns true where the range has scores. One comparison tells that the whole tile is in the range, as most tiles
/// are.
Value ScoreStrip::inRange(size_t range, Value position, const ScoreIndex &index) const {
  const AttentionConfig &config = scores_.config_;
  int size = of_ == Of::queries ? config.block_n : config.block_m;
  Value whole = (narrow(position) >= seenByAll_[range].begin) & (narrow(position) + size <= seenByAll_[range].end);
  const Variant &variant = config.variant;
  if (of_ == Of::queries) {
    Interval keys = variant.keysAt(variant.ranges[range], index.query, index, scores_.tensors_); // [block_m, 1]
    return whole | ((index.key >= keys.begin) & (index.key < min(keys.end, index.seqlen_k)));
  }
  Interval queries = variant.queriesAt(variant.ranges[range], index.key, index, scores_.tensors_); // [1, block_n]
  Value end = select(index.key < index.seqlen_k, narrow(queries.end), 0);                          // [1, block_n]
  return whole | ((index.query >= narrow(queries.begin)) & (index.query < end));
}

Value ScoreStrip::allowed(Value position) const {
  const Variant &variant = scores_.config_.variant;
  ScoreIndex index = at(position);
  Var allowed = variant.ranges.empty() ? index.key < index.seqlen_k : inRange(0, position, index);
  for (const Band &band : scores_.bands_) {
    if (band.left)
      allowed = allowed & (index.key >= index.diagonal(band.alignment) - *band.left);
    if (band.right)
      allowed = allowed & (index.key <= index.diagonal(band.alignment) + *band.right);
  }
  for (size_t range = 1; range < variant.ranges.size(); ++range)
    allowed = allowed & inRange(range, position, index);
  if (variant.mask)
    allowed = allowed & variant.maskAt(index, scores_.tensors_);
  return allowed;
}

Value ScoreStrip::masked(Value s, Value position) const {
  return select(allowed(position), modify(s, position), -infinity);
}

} // namespace tegula
