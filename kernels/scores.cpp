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

Value groupSize(View q, View k) { return q.dim(1) / k.dim(1); }

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
