// SPDX-License-Identifier: MIT
#include "scores.h"

#include "narrow.h"

#include <algorithm>
#include <limits>

namespace tegula {
namespace {

/// Calls of the generator are shared within blocks of this many rows and columns (docs/design/random.md).
constexpr int kRandomBlock = 16;
/// The fewest rounds that pass the tests of Philox's paper; FlashAttention-2 has as many.
constexpr int kDropoutRounds = 7;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Returns true if later queries may see more keys by a set.
bool laterSeeMore(const KeySet &set) {
  return !set.ranges.empty() || std::ranges::any_of(set.bands, [](const Band &band) { return band.right.has_value(); });
}

/// Calls `add` with each condition of the bands.
template <class Add> void forEachBound(const std::vector<Band> &bands, const ScoreIndex &index, const Add &add) {
  for (const Band &band : bands) {
    if (band.left)
      add(index.key >= index.diagonal(band.alignment) - *band.left);
    if (band.right)
      add(index.key <= index.diagonal(band.alignment) + *band.right);
  }
}

} // namespace

KeySet commonKeys(Causal causal, const Variant &variant) {
  KeySet set = {variant.bands, variant.ranges};
  if (causal == Causal::top_left)
    set.bands.push_back({std::nullopt, 0, Alignment::top_left});
  if (causal == Causal::bottom_right)
    set.bands.push_back({std::nullopt, 0, Alignment::bottom_right});
  return set;
}

bool laterQueriesSeeMore(Causal causal, const Variant &variant) {
  return laterSeeMore(commonKeys(causal, variant)) || std::ranges::any_of(variant.any_of, laterSeeMore);
}

Value HeadIndex::shift(Alignment alignment) const {
  Value corner = alignment == Alignment::top_left ? constant(DType::index, 0) : seqlen_k - seqlen_q;
  if (!diagonal_offset)
    return corner;
  return max(min(corner + *diagonal_offset, kMaxDiagonal - seqlen_q), -kMaxDiagonal);
}

Value ScoreIndex::diagonal(Alignment alignment) const {
  return alignment == Alignment::top_left && !diagonal_offset ? query : query + shift(alignment);
}

Value queryHeadsPerKvHead(View q, View k) { return wide(narrow(q.dim(1)) / narrow(k.dim(1))); }
Value kvHead(Value head, View q, View k) { return wide(narrow(head) / narrow(queryHeadsPerKvHead(q, k))); }

namespace {
/// The blocks of queries of all heads.
class QueryBlocks {
public:
  QueryBlocks(const AttentionConfig &config, View q, std::span<const View> strips)
      : headsInL2_(config.heads_in_l2), heads_(narrow(q.dim(1))), allHeads_(narrow(q.dim(0)) * heads_),
        perHead_(perHead(config, q, strips)) {}

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
  /// Returns the blocks of a head. A grid of one instance for each block may be too large for those that are listed.
  static Value perHead(const AttentionConfig &config, View q, std::span<const View> strips) {
    if (strips.empty())
      return narrow((q.dim(2) + (config.block_m - 1)) / config.block_m);
    return config.tile_scheduler == TileScheduler::single_tile ? narrow(numPrograms(0)) : countOfStrips(strips.front());
  }
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

void forQueryBlocks(const AttentionConfig &config, View q, std::span<const View> strips, std::span<const View> counter,
                    const std::function<void(const QueryBlock &)> &body) {
  if (config.tile_scheduler == TileScheduler::single_tile && config.heads_in_l2 == 1)
    return body({programId(2), programId(1), programId(0)});
  QueryBlocks blocks(config, q, strips);
  if (config.isDynamic())
    return forDynamicBlocks(blocks, counter.front(), body);
  if (config.tile_scheduler == TileScheduler::static_persistent)
    return forStaticBlocks(blocks, body);
  body(blocks.ofNumber(blocks.ofInstance()));
}

std::optional<Value> sinkOf(std::span<const View> sinks, Value head) {
  return sinks.empty() ? std::nullopt : std::optional(sinks.front().gather(head));
}

OnlineSoftmax startSoftmax(const AttentionConfig &config, const std::optional<Value> &sink) {
  return sink ? OnlineSoftmax(config.block_m, config.value_dim, *sink)
              : OnlineSoftmax(config.block_m, config.value_dim);
}

Value lseOfP(const AttentionConfig &c, View L, Value i) {
  constexpr double largest = 65536;
  Value lse = L.load(i, {c.block_m}, infinity);                                // [block_m]
  Value hasNoP = sizeOf(c.dtype) == 2 ? abs(lse) > largest : lse == -infinity; // [block_m]
  return select(hasNoP, infinity, lse);
}

//===-- Scores ---------------------------------------------------------------------------------------------------===//

/// Returns `head` with the offset of its diagonal. `tensors` begin with conditionTensors().
static HeadIndex withOffset(const AttentionConfig &config, HeadIndex head, VariantViews tensors) {
  if (config.diagonal_offset)
    head.diagonal_offset.emplace(tensors[config.variant.tensors.size()].gather(head.batch));
  return head;
}

Scores::Scores(const AttentionConfig &config, View q, View k, Value batch, Value head, VariantViews tensors,
               std::span<const View> lists)
    : config_(config), common_(commonKeys(config.causal, config.variant)),
      head_(withOffset(config, {batch, head, q.dim(2), k.dim(2)}, tensors)),
      tensors_(tensors.first(config.variant.tensors.size())), lists_(lists.first(std::min<size_t>(lists.size(), 2))),
      blocks_(lists.subspan(lists_.size())) {
  if (config.dropsOut())
    dropout_.emplace(Dropout{tensors[tensors_.size() + (config.diagonal_offset ? 1 : 0)], q.dim(1)});
}

Scores::Scores(const AttentionConfig &config, HeadIndex head, VariantViews tensors, std::span<const View> blocks,
               std::span<const View> lists)
    : config_(config), common_(commonKeys(config.causal, config.variant)), head_(withOffset(config, head, tensors)),
      tensors_(tensors.first(config.variant.tensors.size())), lists_(lists), blocks_(blocks) {}

Scores Scores::withoutLists(const AttentionConfig &config, View q, View k, Value batch, Value head,
                            VariantViews tensors, std::span<const View> blocks) {
  Scores scores(config, q, k, batch, head, tensors);
  scores.blocks_ = blocks;
  return scores;
}

View listsOfHead(View lists, ListAxes axes, Value batch, Value head) {
  const Value zero = constant(DType::index, 0);
  return lists.at(axes.batch ? batch : zero, axes.heads ? head : zero);
}

Value Scores::firstQuery(Value block) const {
  if (!lists_.empty())
    return wide(listsOfHead(lists_[1], config_.list_axes, head_.batch, head_.head).gather(block, 2)) * config_.block_m;
  if (!laterQueriesSeeMore(config_.causal, config_.variant))
    return block * config_.block_m;
  if (config_.block_m > config_.block_n && !config_.dropsOut())
    return head_.seqlen_q - (block + 1) * config_.block_m;
  Value blocks = (head_.seqlen_q + (config_.block_m - 1)) / config_.block_m;
  return (blocks - 1 - block) * config_.block_m;
}

BlockRows Scores::queriesOf(Value block, std::span<const View> strips) const {
  return strips.empty() ? BlockRows{firstQuery(block)} : rowsOfStrip(strips.front(), block);
}

/// Returns the keys of `within` from the first one that the first row sees by a set to the last one that the last row
/// sees. If the rows are exchanged, these are the keys that all rows see.
Interval Scores::keysOf(const KeySet &set, Interval within, Value firstRow, Value lastRow) const {
  Var begin = within.begin;
  Var end = within.end;
  for (const Band &band : set.bands) {
    if (band.left)
      begin = max(begin, firstRow + head_.shift(band.alignment) - *band.left);
    if (band.right)
      end = min(end, lastRow + 1 + head_.shift(band.alignment) + *band.right);
  }
  for (const VisibleRange &range : set.ranges) {
    begin = max(begin, config_.variant.keysAt(range, firstRow, head_, tensors_).begin);
    end = min(end, config_.variant.keysAt(range, lastRow, head_, tensors_).end);
  }
  return {begin, end};
}

/// Does the same for queries that see keys.
Interval Scores::queriesOf(const KeySet &set, Interval within, Value firstKey, Value lastKey) const {
  Var begin = within.begin;
  Var end = within.end;
  for (const Band &band : set.bands) {
    if (band.right)
      begin = max(begin, firstKey - head_.shift(band.alignment) - *band.right);
    if (band.left)
      end = min(end, lastKey + 1 - head_.shift(band.alignment) + *band.left);
  }
  for (const VisibleRange &range : set.ranges) {
    if (!range.queries)
      continue;
    begin = max(begin, config_.variant.queriesAt(range, firstKey, head_, tensors_).begin);
    end = min(end, config_.variant.queriesAt(range, lastKey, head_, tensors_).end);
  }
  return {begin, end};
}

Visits Scores::keysFor(Value firstRow, Value lastRow) const {
  Interval all = {constant(DType::index, 0), head_.seqlen_k};
  Value row = max(firstRow, 0);
  auto [begin, common] = keysOf(common_, all, row, lastRow);
  Var end = common;
  if (config_.tile_scheduler != TileScheduler::single_tile) // Some blocks of the schedule have no rows.
    end = select(min(lastRow, head_.seqlen_q - 1 - row) >= 0, end, begin);
  if (hasUnion()) {
    std::vector<Interval> sets;
    for (const KeySet &set : config_.variant.any_of)
      sets.push_back(keysOf(set, {begin, end}, row, lastRow));
    return Visits::ofUnion(sets, config_.block_n);
  }
  return {{config_.dropsOut() ? wide(narrow(begin) / kRandomBlock * kRandomBlock) : begin, end}, config_.block_n};
}

Visits Scores::queriesFor(Value key, Value lastKey) const {
  const Interval common = queriesOf(common_, {constant(DType::index, 0), head_.seqlen_q}, key, lastKey);
  if (hasUnion()) {
    std::vector<Interval> sets;
    for (const KeySet &set : config_.variant.any_of)
      sets.push_back(queriesOf(set, common, key, lastKey));
    return Visits::ofUnion(sets, config_.block_m);
  }
  // TMA copies row statistics, 4 bytes each, only from multiples of 16 bytes.
  const int unit = config_.dropsOut() ? kRandomBlock : 4;
  return {{common.begin / unit * unit, common.end}, config_.block_m};
}

Visits Scores::listed(Value first, int strip, int tile) const {
  const Value number = narrow(first) / strip;
  const auto ofHead = [&](View lists) { return listsOfHead(lists, config_.list_axes, head_.batch, head_.head); };
  View tiles = ofHead(lists_[0]).at(number), counts = ofHead(lists_[1]).at(number);
  return Visits(VisitList{tiles, counts.gather(0), counts.gather(1)}, tile);
}

ScoreIndex Scores::at(Value row, Value key) const {
  return {head_, asColumn(row + iota(config_.block_m)), asRow(key + iota(config_.block_n)), config_.dtype};
}

ScoreStrip Scores::ofQueries(const BlockRows &rows) const {
  const Value row = rows.first, last = min(row + config_.block_m, rows.end.value_or(head_.seqlen_q)) - 1;
  const Value keys = head_.seqlen_k;
  if (!lists_.empty())
    return {*this, ScoreStrip::Of::queries, row, last, keys, listed(row, config_.block_m, config_.block_n)};
  const Visits visits = keysFor(row, last);
  const std::optional<Alignment> &peak = config_.variant.peak;
  return {
      *this, ScoreStrip::Of::queries, row, last, keys, peak ? visits.beginningWith(row + head_.shift(*peak)) : visits};
}

ScoreStrip Scores::ofQueries(Value row) const { return ofQueries(BlockRows{row}); }

ScoreStrip Scores::ofKeys(Value key) const { return ofKeys(BlockRows{key}); }

ScoreStrip Scores::ofKeys(const BlockRows &keys) const {
  const Value key = keys.first, end = keys.end.value_or(head_.seqlen_k), last = min(key + config_.block_n, end) - 1;
  if (!lists_.empty())
    return {*this, ScoreStrip::Of::keys, key, last, end, listed(key, config_.block_n, config_.block_m)};
  return {*this, ScoreStrip::Of::keys, key, last, end, queriesFor(key, last)};
}

//===-- ScoreStrip -----------------------------------------------------------------------------------------------===//

ScoreStrip::ScoreStrip(const Scores &scores, Of of, Value first, Value last, Value keysEnd, Visits visits)
    : scores_(scores), of_(of), first_(first), keysEnd_(keysEnd), visits_(visits) {
  if (scores.lists_.empty()) // Lists tell which tiles are whole.
    findSeenByAll(last);
}

void ScoreStrip::findSeenByAll(Value last) {
  const HeadIndex &head = scores_.head_;
  const Variant &variant = scores_.config_.variant;
  if (variant.ranges.empty() && variant.any_of.empty())
    return;
  // If a strip of keys reaches beyond the last key, no position is seen by all of it.
  Value end =
      of_ == Of::queries ? head.seqlen_k : select(first_ + scores_.config_.block_n <= keysEnd_, head.seqlen_q, 0);
  auto seen = [&](const KeySet &set, const Interval &within) {
    return of_ == Of::queries ? scores_.keysOf(set, within, last, first_)
                              : scores_.queriesOf(set, within, last, first_);
  };
  // A range without bounds for keys does not tell which queries see all keys of a strip.
  auto isKnown = [&](const std::vector<VisibleRange> &ranges) {
    return of_ == Of::queries || std::ranges::all_of(ranges, [](auto &range) { return bool(range.queries); });
  };
  if (scores_.hasUnion()) {
    const Interval common = seen(scores_.common_, {constant(DType::index, 0), end});
    for (const KeySet &set : variant.any_of) {
      const auto [first, after] = seen(set, common);
      seenByAll_.push_back(isKnown(scores_.common_.ranges) && isKnown(set.ranges)
                               ? std::optional(Interval{narrow(first), narrow(after)})
                               : std::nullopt);
    }
    return;
  }
  auto bounds = [&](const VisibleRange &range, Value position) {
    return of_ == Of::queries ? variant.keysAt(range, position, head, scores_.tensors_)
                              : variant.queriesAt(range, position, head, scores_.tensors_);
  };
  for (const VisibleRange &range : variant.ranges)
    if (isKnown({range}))
      seenByAll_.emplace_back(Interval{narrow(bounds(range, last).begin), narrow(min(bounds(range, first_).end, end))});
    else
      seenByAll_.emplace_back(std::nullopt);
}

ScoreIndex ScoreStrip::at(Value position) const {
  return of_ == Of::queries ? scores_.at(first_, position) : scores_.at(position, first_);
}

Value ScoreStrip::modify(Value s, const Visit &tile) const {
  const Variant &variant = scores_.config_.variant;
  return variant.score ? variant.scoreAt(s, at(tile.position), scores_.tensors_) : s;
}

Value ScoreStrip::modifyProbability(Value p, const Visit &tile) const {
  const Variant &variant = scores_.config_.variant;
  return variant.probability ? variant.probabilityAt(p, at(tile.position), scores_.tensors_) : p;
}

/// Returns true if a tile lies in an interval (i1).
Value ScoreStrip::isIn(const Interval &seen, Value position) const {
  const AttentionConfig &config = scores_.config_;
  int size = of_ == Of::queries ? config.block_n : config.block_m;
  return (narrow(position) >= seen.begin) & (narrow(position) + size <= seen.end);
}

/// Returns true where the range has scores.
Value ScoreStrip::inRange(const VisibleRange &range, const ScoreIndex &index) const {
  const Variant &variant = scores_.config_.variant;
  if (of_ == Of::queries || !range.queries) {
    Interval keys = variant.keysAt(range, index.query, index, scores_.tensors_); // [block_m, 1]
    return (index.key >= keys.begin) & (index.key < min(keys.end, keysEnd_));
  }
  Interval queries = variant.queriesAt(range, index.key, index, scores_.tensors_); // [1, block_n]
  Value end = select(index.key < keysEnd_, narrow(queries.end), 0);                // [1, block_n]
  return (index.query >= narrow(queries.begin)) & (index.query < end);
}

/// Returns true where the range has scores. One comparison tells that the whole tile is in the range, as most tiles
/// are.
Value ScoreStrip::inRange(size_t range, Value position, const ScoreIndex &index) const {
  const VisibleRange &of = scores_.common_.ranges[range];
  if (seenByAll_.empty() || scores_.hasUnion() || !seenByAll_[range])
    return inRange(of, index);
  Value whole = isIn(*seenByAll_[range], position);
  return whole | inRange(of, index);
}

/// Returns true where a set has scores.
Value ScoreStrip::inSet(const KeySet &set, const ScoreIndex &index) const {
  std::optional<Value> all;
  auto add = [&](Value condition) { all.emplace(all ? *all & condition : condition); };
  forEachBound(set.bands, index, add);
  for (const VisibleRange &range : set.ranges)
    add(inRange(range, index));
  return all.value_or(index.key < keysEnd_);
}

/// Returns true where the common conditions and at least one set have scores. One comparison for each set tells that
/// the whole tile has them.
Value ScoreStrip::existsInUnion(Value position, const ScoreIndex &index) const {
  const std::vector<KeySet> &sets = scores_.config_.variant.any_of;
  Var inAny = inSet(sets.front(), index);
  for (size_t set = 1; set < sets.size(); ++set)
    inAny = inAny | inSet(sets[set], index);
  Value exists = (index.key < keysEnd_) & inSet(scores_.common_, index) & inAny;
  if (seenByAll_.empty())
    return exists;
  Var whole = exists;
  for (const std::optional<Interval> &seen : seenByAll_)
    if (seen)
      whole = isIn(*seen, position) | whole;
  return whole;
}

/// Returns true where there are scores, from the conditions of the problem alone.
Value ScoreStrip::exists(Value position) const {
  const std::vector<VisibleRange> &ranges = scores_.common_.ranges;
  ScoreIndex index = at(position);
  if (scores_.hasUnion()) {
    Value exists = existsInUnion(position, index);
    const std::optional<Value> unmasked = this->unmasked(position, index);
    return unmasked ? exists & *unmasked : exists;
  }
  Var allowed = ranges.empty() ? index.key < keysEnd_ : inRange(0, position, index);
  forEachBound(scores_.common_.bands, index, [&](Value condition) { allowed = allowed & condition; });
  for (size_t range = 1; range < ranges.size(); ++range)
    allowed = allowed & inRange(range, position, index);
  if (const std::optional<Value> unmasked = this->unmasked(position, index))
    allowed = allowed & *unmasked;
  return allowed;
}

Value ScoreStrip::blockState(Value position) const {
  const AttentionConfig &config = scores_.config_;
  const BlockMask &mask = config.block_mask;
  const HeadIndex &head = scores_.head_;
  View blocks = listsOfHead(scores_.blocks_.front(), {mask.per_batch, mask.per_head}, head.batch, head.head);
  if (config.hasTilesInBlocks()) {
    Value row = of_ == Of::queries ? first_ : position, key = of_ == Of::queries ? position : first_;
    return blocks.gather(narrow(row) / mask.block_q, narrow(key) / mask.block_k);
  }
  const ScoreIndex index = at(position);
  return blocks.gather(index.query / mask.block_q, index.key / mask.block_k);
}

std::optional<Value> ScoreStrip::kept(const Visit &tile) const {
  if (!scores_.dropout_)
    return std::nullopt;
  const auto &[state, heads] = *scores_.dropout_;
  const HeadIndex &head = scores_.head_;
  const RandomKey key{state.gather(0), state.gather(1), narrow(head.batch) * narrow(heads) + narrow(head.head)};
  const ScoreIndex index = at(tile.position);
  return randomBytes(key, index.query, index.key, kDropoutRounds) < scores_.config_.kept_of_256;
}

/// Returns true where the variant's mask or a given block mask lets scores exist. None if both always do.
std::optional<Value> ScoreStrip::unmasked(Value position, const ScoreIndex &index) const {
  const Variant &variant = scores_.config_.variant;
  std::optional<Value> mask;
  if (variant.mask)
    mask.emplace(variant.maskAt(index, scores_.tensors_));
  const bool isListed = !scores_.lists_.empty() && scores_.config_.hasTilesInBlocks();
  if (scores_.blocks_.empty() || (isListed && !mask))
    return mask;
  Value state = blockState(position);
  return mask ? (state >= kFullBlock) | ((state != 0) & *mask) : state != 0;
}

Value ScoreStrip::allowed(const Visit &tile) const {
  Value exists = this->exists(tile.position);
  return tile.whole ? *tile.whole | exists : exists;
}

Visits visitsOfKeys(const AttentionConfig &config, const ScoreStrip &strip) {
  return config.deterministic && !config.block_mask.exists() ? strip.visits().aligned() : strip.visits();
}

Value ScoreStrip::masked(Value s, const Visit &tile) const { return select(allowed(tile), modify(s, tile), -infinity); }

} // namespace tegula
