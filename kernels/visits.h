// SPDX-License-Identifier: MIT
// The tiles that a strip of scores visits.
#pragma once

#include "tegula/attention_variant.h"

#include <functional>
#include <optional>

namespace tegula {

/// The tiles that a strip visits, in their order. The tiles lie in an interval and follow each other from its begin.
class Visits {
public:
  /// The tiles have `tile` positions. The last one may reach beyond the end of the interval.
  Visits(Interval of, int tile) : interval_(of), tile_(tile) {}

  /// Returns the same tiles in another order. The tile with `position`, or the nearest one, comes first. The tiles
  /// before it come last.
  Visits beginningWith(Value position) const;
  /// Returns the tiles of the same positions that begin at multiples of the tile size.
  Visits aligned() const;

  /// Records the loop over the tiles. `body` runs once, with the position at which a tile begins. `where` is the line
  /// of the loop.
  void forEach(const std::function<void(Value position)> &body, Location where = Location::current()) const;
  /// Returns true (i1) if the tile that begins at `position` is visited.
  Value contains(Value position) const;

private:
  struct Rotation {
    Value first; ///< i32: the tile that is visited first, counted from the begin of the interval.
    Value round; ///< i32: the end of the last tile, counted from the begin of the interval.
  };

  Value positionAt(Value step) const;

  Interval interval_;
  int tile_;
  std::optional<Rotation> rotation_ = {};
};

} // namespace tegula
