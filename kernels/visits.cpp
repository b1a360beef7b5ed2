// SPDX-License-Identifier: MIT
#include "visits.h"

#include "narrow.h"

#include <utility>

namespace tegula {
namespace {

/// The tiles with numbers `first` to `last - 1`, i32; none if last <= first.
struct Tiles {
  Var first, last;
};

/// Returns the tiles that an interval touches. An empty interval has no last tile.
Tiles tilesOf(const Interval &of, int tile) {
  Value last = (narrow(of.end) + (tile - 1)) / tile;
  return {narrow(of.begin) / tile, select(of.begin < of.end, last, 0)};
}

/// Exchanges the two, unless `a` begins first.
void order(Tiles &a, Tiles &b) {
  Value isOrdered = a.first <= b.first;
  Value first = min(a.first, b.first), second = max(a.first, b.first);
  Value end = select(isOrdered, a.last, b.last), secondEnd = select(isOrdered, b.last, a.last);
  a.first = first, a.last = end;
  b.first = second, b.last = secondEnd;
}

/// Sorts by the first tile. The sequence of exchanges does not depend on the numbers, which are not known here.
void sort(std::vector<Tiles> &all) {
  for (size_t unsorted = all.size(); unsorted > 1; --unsorted)
    for (size_t next = 1; next < unsorted; ++next)
      order(all[next - 1], all[next]);
}

} // namespace

Visits::Visits(VisitList list, int tile)
    : interval_{constant(DType::index, 0), wide(list.count)}, tile_(tile), list_(list) {}

Visits::Visits(std::vector<Run> runs, Value count, int tile)
    : interval_{constant(DType::index, 0), wide(count)}, tile_(tile), runs_(std::move(runs)) {}

Visits Visits::ofUnion(std::span<const Interval> of, int tile) {
  std::vector<Tiles> all;
  for (const Interval &interval : of)
    all.push_back(tilesOf(interval, tile));
  sort(all);
  std::vector<Run> runs;
  Var count = constant(i32, 0), end = constant(i32, 0);
  for (const Tiles &tiles : all) {
    Value first = max(tiles.first, end); // Tiles before `end` belong to the runs before.
    runs.push_back({first, count, max(tiles.last - first, 0)});
    count = count + runs.back().count;
    end = max(end, tiles.last);
  }
  return {std::move(runs), count, tile};
}

/// Returns the number of the visit that is nearest to a position, as beginningWith() describes it.
Value Visits::visitNear(Value position) const {
  Value tile = narrow(position) / tile_;
  Var before = constant(i32, 0); // How many visited tiles lie before `tile`.
  for (const Run &run : runs_)
    before = before + max(min(tile - run.first, run.count), 0);
  return max(min(before, narrow(interval_.end) - 1), 0);
}

Visits Visits::beginningWith(Value position) const {
  Visits visits = *this;
  if (!runs_.empty()) {
    visits.rotation_.emplace(visitNear(position), narrow(interval_.end));
    return visits;
  }
  auto [begin, end] = interval_;
  auto inTiles = [this](Value length) { return narrow(length) / tile_ * tile_; };
  Value first = max(min(position - begin, end - begin - 1), 0);
  visits.rotation_.emplace(inTiles(first), inTiles(end - begin + (tile_ - 1)));
  return visits;
}

Visits Visits::aligned() const {
  if (list_ || !runs_.empty())
    return *this;
  return {{wide(narrow(interval_.begin) / tile_ * tile_), interval_.end}, tile_};
}

/// Returns the step of the interval that comes in the place of `step`.
Value Visits::stepAt(Value step) const {
  if (!rotation_)
    return step;
  auto [first, round] = *rotation_;
  Value here = narrow(step) + first;
  return wide(select(here < narrow(interval_.begin) + round, here, here - round));
}

/// Returns the number of the tile of a visit in a union, i32.
Value Visits::numberOf(Value visit) const {
  Var shift = runs_.front().first;
  for (size_t run = 1; run < runs_.size(); ++run)
    shift = select(visit >= runs_[run].before, runs_[run].first - runs_[run].before, shift);
  return visit + shift;
}

void Visits::forEach(const std::function<void(const Visit &)> &body, Location where) const {
  if (list_) {
    for (Value number : range(interval_.begin, interval_.end, 1, where))
      body({wide(list_->tiles.gather(number) * tile_), narrow(number) < list_->whole});
    return;
  }
  const int step = runs_.empty() ? tile_ : 1;
  for (Value place : range(interval_.begin, interval_.end, step, where))
    body({runs_.empty() ? stepAt(place) : wide(numberOf(narrow(stepAt(place))) * tile_)});
}

Value Visits::contains(Value position) const {
  Value at = narrow(position);
  return (at >= narrow(interval_.begin)) & (at < narrow(interval_.end));
}

} // namespace tegula
