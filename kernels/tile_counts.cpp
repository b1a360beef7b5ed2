// SPDX-License-Identifier: MIT
#include "tile_counts.h"

#include "blocks.h"
#include "kernel_config.h"
#include "scores.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tegula {
namespace {

/// An average takes at most twice as many strips.
constexpr int64_t kMaxStrips = 128;

/// Returns the number of tiles that touch at least one interval and begin at multiples of `tile`. `isListed` tells
/// whether a tile counts.
int64_t alignedTiles(std::vector<KeyInterval> intervals, int tile, const std::function<bool(int64_t)> &isListed) {
  std::erase_if(intervals, [](const KeyInterval &interval) { return interval.begin >= interval.end; });
  std::ranges::sort(intervals, {}, &KeyInterval::begin);
  int64_t count = 0, next = 0;
  for (const KeyInterval &interval : intervals)
    for (next = std::max(next, interval.begin / tile); next < blocks(interval.end, tile); ++next)
      count += isListed(next * tile);
  return count;
}

/// Calls `count` with the numbers of strips, and returns the average.
double average(int64_t strips, const std::function<int64_t(int64_t strip)> &count) {
  const int64_t step = std::max<int64_t>(1, strips / kMaxStrips);
  double sum = 0;
  int64_t taken = 0;
  for (int64_t strip = 0; strip < strips; strip += step, ++taken)
    sum += double(count(strip));
  return taken > 0 ? sum / double(taken) : 0;
}

} // namespace

TileCounts::TileCounts(const AttentionProblem &problem, const ModelledLaunch &launch, const Schedule &schedule)
    : problem_(problem), launch_(launch), schedule_(schedule), common_(commonKeys(problem.causal, problem.variant)) {}

int64_t TileCounts::shift(Alignment alignment) const {
  const AttentionShape &shape = launch_.shape;
  const int64_t corner = alignment == Alignment::top_left ? 0 : shape.seqlen_k - shape.seqlen_q;
  if (!problem_.diagonal_offset)
    return corner;
  return std::max(std::min(corner + launch_.diagonal_offset, kMaxDiagonal - shape.seqlen_q), -kMaxDiagonal);
}

KeyInterval TileCounts::keysOf(const VisibleRange &range, int64_t query) const {
  const int64_t seqlen_k = launch_.shape.seqlen_k;
  return range.expected ? range.expected(query + (range.alignment ? shift(*range.alignment) : 0), seqlen_k)
                        : KeyInterval{0, seqlen_k};
}

KeyInterval TileCounts::keysOf(const KeySet &set, KeyInterval within, int64_t first, int64_t last) const {
  for (const Band &band : set.bands) {
    if (band.left)
      within.begin = std::max(within.begin, first + shift(band.alignment) - *band.left);
    if (band.right)
      within.end = std::min(within.end, last + 1 + shift(band.alignment) + *band.right);
  }
  for (const VisibleRange &range : set.ranges) {
    within.begin = std::max(within.begin, keysOf(range, first).begin);
    within.end = std::min(within.end, keysOf(range, last).end);
  }
  return within;
}

/// Returns the first query whose keys fulfil `holds`, as those of all later queries do.
int64_t TileCounts::firstQueryWhere(const std::function<bool(const KeyInterval &keys)> &holds,
                                      const VisibleRange &range) const {
  int64_t begin = 0, end = launch_.shape.seqlen_q;
  while (begin < end) {
    const int64_t middle = std::midpoint(begin, end);
    if (holds(keysOf(range, middle)))
      end = middle;
    else
      begin = middle + 1;
  }
  return begin;
}

KeyInterval TileCounts::queriesOf(const KeySet &set, KeyInterval within, int64_t first, int64_t last) const {
  for (const Band &band : set.bands) {
    if (band.right)
      within.begin = std::max(within.begin, first - shift(band.alignment) - *band.right);
    if (band.left)
      within.end = std::min(within.end, last + 1 - shift(band.alignment) + *band.left);
  }
  for (const VisibleRange &range : set.ranges) {
    if (!range.queries)
      continue;
    within.begin = std::max(within.begin, firstQueryWhere([&](auto &keys) { return keys.end > first; }, range));
    within.end = std::min(within.end, firstQueryWhere([&](auto &keys) { return keys.begin > last; }, range));
  }
  return within;
}

bool TileCounts::hasLists() const { return blockMaskOf(problem_).exists(); }

int64_t TileCounts::tilesIn(KeyInterval common, std::vector<KeyInterval> sets, int tile, int64_t unit,
                              const std::function<bool(int64_t)> &is_listed) const {
  if (!problem_.variant.any_of.empty())
    return alignedTiles(std::move(sets), tile, is_listed);
  if (hasLists())
    return alignedTiles({common}, tile, is_listed);
  return blocks(std::max<int64_t>(common.end - common.begin / unit * unit, 0), tile);
}

int64_t TileCounts::ofQueries(int64_t first) const {
  const AttentionShape &shape = launch_.shape;
  const int64_t row = std::max<int64_t>(first, 0), last = std::min(first + schedule_.block_m, shape.seqlen_q) - 1;
  const KeyInterval common = keysOf(common_, {0, shape.seqlen_k}, row, last);
  std::vector<KeyInterval> sets;
  for (const KeySet &set : problem_.variant.any_of)
    sets.push_back(keysOf(set, common, row, last));
  return tilesIn(common, std::move(sets), schedule_.block_n, problem_.dropout_p != 0 ? 16 : 1, [&](int64_t key) {
    return !launch_.is_listed || launch_.is_listed({row, last + 1}, {key, key + schedule_.block_n});
  });
}

int64_t TileCounts::ofKeys(int64_t first) const {
  const AttentionShape &shape = launch_.shape;
  const int64_t last = std::min(first + schedule_.block_n, shape.seqlen_k) - 1;
  const KeyInterval common = queriesOf(common_, {0, shape.seqlen_q}, first, last);
  std::vector<KeyInterval> sets;
  for (const KeySet &set : problem_.variant.any_of)
    sets.push_back(queriesOf(set, common, first, last));
  return tilesIn(common, std::move(sets), schedule_.block_m, problem_.dropout_p != 0 ? 16 : 4, [&](int64_t query) {
    return !launch_.is_listed || launch_.is_listed({query, query + schedule_.block_m}, {first, last + 1});
  });
}

double TileCounts::averageOfQueries() const {
  const int64_t queries = launch_.shape.seqlen_q, block = schedule_.block_m,
                strips = blocks(queries, schedule_.block_m);
  const bool endWithTheLast = !hasLists() && laterQueriesSeeMore(problem_.causal, problem_.variant) &&
                              block > schedule_.block_n && problem_.dropout_p == 0;
  return average(
      strips, [&](int64_t strip) { return ofQueries(endWithTheLast ? queries - (strip + 1) * block : strip * block); });
}

double TileCounts::averageOfKeys() const {
  return average(blocks(launch_.shape.seqlen_k, schedule_.block_n),
                 [&](int64_t strip) { return ofKeys(strip * schedule_.block_n); });
}

} // namespace tegula
