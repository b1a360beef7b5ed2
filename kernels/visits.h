// SPDX-License-Identifier: MIT
// The tiles that a strip of scores visits.
#pragma once

#include "tegula/attention_variant.h"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace tegula {

/// A tile that a strip visits. All are scalars.
struct Visit {
  Value position;                  ///< Where the tile begins along the strip.
  std::optional<Value> whole = {}; ///< i1: every score of the tile exists. None: nothing is known.
};

/// One row of the lists that block_lists.h describes: the tiles that a strip visits.
struct VisitList {
  View tiles;  ///< i32 [tiles]: numbers of tiles. Those that are whole come first.
  Value count; ///< i32: how many tiles are listed.
  Value whole; ///< i32: how many of them are whole.
};

/// The tiles that a strip visits, in their order. They follow each other from the begin of an interval, or touch a
/// union of intervals, or are listed.
class Visits {
public:
  /// The tiles have `tile` positions. The last one may reach beyond the end of the interval.
  Visits(Interval of, int tile) : interval_(of), tile_(tile) {}
  /// The tiles begin at multiples of `tile`.
  Visits(VisitList list, int tile);
  /// Returns the tiles that touch at least one of the intervals, in ascending order and each of them once. They begin
  /// at multiples of `tile`. There is at least one interval. Intervals may overlap and be empty, and have any order.
  /// Bounds of those that are not empty are from 0 to 2^30.
  static Visits ofUnion(std::span<const Interval> of, int tile);

  /// Returns the same tiles in another order. The tile with `position` comes first. If it is not visited, the next tile
  /// after it comes first, or the last tile. The tiles before it come last. Not for listed tiles.
  Visits beginningWith(Value position) const;
  /// Returns the tiles of the same positions that begin at multiples of the tile size.
  Visits aligned() const;

  /// Records the loop over the tiles. `body` runs once. `where` is the line of the loop.
  void forEach(const std::function<void(const Visit &)> &body, Location where = Location::current()) const;
  /// Returns true (i1) if the tile that begins at `position` is visited. Only for tiles of one interval.
  Value contains(Value position) const;

private:
  struct Rotation {
    Value first; ///< i32: the tile that is visited first, counted from the begin of the interval.
    Value round; ///< i32: the end of the last tile, counted from the begin of the interval.
  };
  /// Tiles of a union that follow each other. All are i32.
  struct Run {
    Value first;  ///< Number of its first tile: the tile begins at `first` * tile size.
    Value before; ///< Number of tiles in the runs before it.
    Value count;  ///< Number of its tiles, which may be 0.
  };

  Visits(std::vector<Run> runs, Value count, int tile);

  Value stepAt(Value step) const;
  Value numberOf(Value visit) const;
  Value visitNear(Value position) const;

  Interval interval_; ///< Positions, or the numbers of visits if tiles are listed or have runs.
  int tile_;
  std::optional<VisitList> list_ = {};
  std::vector<Run> runs_ = {}; ///< In ascending order; only for a union.
  std::optional<Rotation> rotation_ = {};
};

} // namespace tegula
