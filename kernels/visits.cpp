// SPDX-License-Identifier: MIT
#include "visits.h"

namespace tegula {

// Positions of tiles have 32 bits, which are enough for the positions of a loop.
static Value narrow(Value x) { return cast(i32, x); }
static Value wide(Value x) { return cast(DType::index, x); }

Visits Visits::beginningWith(Value position) const {
  auto [begin, end] = interval_;
  auto inTiles = [this](Value length) { return narrow(length) / tile_ * tile_; };
  Value first = max(min(position - begin, end - begin - 1), 0);
  Visits visits = *this;
  visits.rotation_.emplace(inTiles(first), inTiles(end - begin + (tile_ - 1)));
  return visits;
}

Visits Visits::aligned() const { return {{wide(narrow(interval_.begin) / tile_ * tile_), interval_.end}, tile_}; }

Value Visits::positionAt(Value step) const {
  if (!rotation_)
    return step;
  auto [first, round] = *rotation_;
  Value here = narrow(step) + first;
  return wide(select(here < narrow(interval_.begin) + round, here, here - round));
}

void Visits::forEach(const std::function<void(Value position)> &body, Location where) const {
  for (Value step : range(interval_.begin, interval_.end, tile_, where))
    body(positionAt(step));
}

Value Visits::contains(Value position) const {
  Value at = narrow(position);
  return (at >= narrow(interval_.begin)) & (at < narrow(interval_.end));
}

} // namespace tegula
