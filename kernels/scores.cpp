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

Value ScoreIndex::diagonal(Alignment alignment) const {
  return alignment == Alignment::top_left ? query : query + (seqlen_k - seqlen_q);
}

// Numbers of heads and blocks have 32 bits: divisions of 64 take longer than the start of a tile should.
static Value narrow(Value x) { return cast(i32, x); }
static Value wide(Value x) { return cast(DType::index, x); }

Value groupSize(View q, View k) { return wide(narrow(q.dim(1)) / narrow(k.dim(1))); }
Value kvHead(Value head, View q, View k) { return wide(narrow(head) / narrow(groupSize(q, k))); }

namespace {
/// All blocks of queries, by groups of heads: in a group the first blocks of all heads come first, then their second
/// ones, and so on.
class QueryBlocks {
public:
  QueryBlocks(const AttentionConfig &config, View q)
      : heads_(narrow(q.dim(1))), allHeads_(narrow(q.dim(0)) * heads_),
        perHead_(narrow((q.dim(2) + (config.block_m - 1)) / config.block_m)) {}

  Value perHead() const { return perHead_; }
  Value allHeads() const { return allHeads_; }

  /// The number that an instance of a grid {blocks, heads, batch} has.
  Value ofInstance() const {
    return (narrow(programId(2)) * heads_ + narrow(programId(1))) * perHead_ + narrow(programId(0));
  }

  /// The block of this number in the group that begins with this head; block perHead() where there is none.
  QueryBlock at(Value first, Value group, Value number) const {
    Value heads = min(allHeads_ - first, group);
    Value head = first + number % heads;
    return {wide(head / heads_), wide(head % heads_), wide(min(number / heads, perHead_))};
  }

private:
  Value heads_, allHeads_, perHead_;
};
} // namespace

/// One after another, so that all instances have as much to do although blocks see fewer and fewer keys: whoever has
/// the longest block of one round has the shortest of the next, and a group of heads takes two rounds if it can.
static void inTurns(const QueryBlocks &blocks, const std::function<void(const QueryBlock &)> &body) {
  Value programs = narrow(numPrograms(0));
  Value here = narrow(programId(0)), back = programs - 1 - here;
  Value group = min(max(2 * programs / blocks.perHead(), 1), blocks.allHeads());
  Value rounds = (group * blocks.perHead() + (programs - 1)) / programs;
  Value groups = (blocks.allHeads() + group - 1) / group;
  for (Value turn : parallelRange(0, wide(groups * rounds))) {
    Value round = narrow(turn) % rounds;
    Value number = round * programs + select(round % 2 == 0, here, back);
    body(blocks.at(narrow(turn) / rounds * group, group, number));
  }
}

void forQueryBlocks(const AttentionConfig &config, View q, const std::function<void(const QueryBlock &)> &body) {
  if (!config.persistent && config.heads_per_group == 1)
    return body({programId(2), programId(1), programId(0)});
  QueryBlocks blocks(config, q);
  if (config.persistent)
    return inTurns(blocks, body);
  Value group = constant(i32, config.heads_per_group), number = blocks.ofInstance();
  Value first = number / (blocks.perHead() * group) * group;
  body(blocks.at(first, group, number - first * blocks.perHead()));
}

Scores::Scores(const AttentionConfig &config, View q, View k, Value batch, Value head, VariantViews tensors)
    : config_(config), bands_(bandsOf(config)), batch_(batch), head_(head), seqlen_q_(q.dim(2)), seqlen_k_(k.dim(2)),
      tensors_(tensors) {}

Value Scores::shift(const Band &band) const {
  return band.alignment == Alignment::top_left ? constant(DType::index, 0) : seqlen_k_ - seqlen_q_;
}

Value Scores::firstQuery(Value block) const {
  bool laterSeeMore =
      std::any_of(bands_.begin(), bands_.end(), [](const Band &band) { return band.right.has_value(); });
  if (laterSeeMore) {
    Value blocks = (seqlen_q_ + (config_.block_m - 1)) / config_.block_m;
    return (blocks - 1 - block) * config_.block_m;
  }
  return block * config_.block_m;
}

Interval Scores::keysFor(Value row) const {
  Value rowEnd = min(row + config_.block_m, seqlen_q_);
  Var begin = constant(DType::index, 0);
  Var end = seqlen_k_;
  for (const Band &band : bands_) {
    if (band.left)
      begin = max(begin, row + shift(band) - *band.left);
    if (band.right)
      end = min(end, rowEnd + shift(band) + *band.right);
  }
  if (config_.persistent) // There is a block for each turn, but not all of them have rows.
    end = select(min(row, seqlen_q_ - 1 - row) >= 0, end, begin);
  return {begin, end};
}

Interval Scores::queriesFor(Value key) const {
  Value keyEnd = min(key + config_.block_n, seqlen_k_);
  Var begin = constant(DType::index, 0);
  Var end = seqlen_q_;
  for (const Band &band : bands_) {
    if (band.right)
      begin = max(begin, key - shift(band) - *band.right);
    if (band.left)
      end = min(end, keyEnd - shift(band) + *band.left);
  }
  return {begin, end};
}

ScoreIndex Scores::at(Value row, Value key) const {
  Value queries = asColumn(row + iota(config_.block_m)); // [block_m, 1]
  Value keys = asRow(key + iota(config_.block_n));       // [1, block_n]
  return {batch_, head_, queries, keys, seqlen_q_, seqlen_k_};
}

Value Scores::modify(Value s, Value row, Value key) const {
  return config_.variant.score ? config_.variant.score(s, at(row, key), tensors_) : s;
}

Value Scores::allowed(Value row, Value key) const {
  ScoreIndex index = at(row, key);
  Var allowed = index.key < seqlen_k_;
  for (const Band &band : bands_) {
    if (band.left)
      allowed = allowed & (index.key >= index.diagonal(band.alignment) - *band.left);
    if (band.right)
      allowed = allowed & (index.key <= index.diagonal(band.alignment) + *band.right);
  }
  if (config_.variant.mask)
    allowed = allowed & config_.variant.mask(index, tensors_);
  return allowed;
}

Value Scores::masked(Value s, Value row, Value key) const {
  return select(allowed(row, key), modify(s, row, key), -infinity);
}

} // namespace tegula
