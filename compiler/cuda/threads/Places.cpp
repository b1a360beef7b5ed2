// SPDX-License-Identifier: MIT
// The elements of a tile that a thread holds.
#include "compiler/cuda/threads/Threads.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

unsigned cuda::registerCount(RankedTensorType tile) { return sm::countOf(sm::layoutOf(tile).getRegisters()); }

sm::Coordinates cuda::registerOffset(RankedTensorType tile, unsigned reg) {
  return sm::coordinatesOf(sm::layoutOf(tile).getRegisters(), reg, tile.getRank());
}

/// Adds to `place` what `index`, a lane or warp number, contributes. Returns an i1: true for the first of its replicas.
/// Null if there are no replicas.
static Value addDigits(Scalars &s, Value index, ArrayRef<sm::Digit> digits, ThreadCoordinates &place) {
  Value first;
  int64_t weight = 1, count = sm::countOf(digits);
  for (const sm::Digit &digit : digits) {
    Value number = s.div(index, weight);
    weight *= digit.size;
    if (weight != count)
      number = s.rem(number, digit.size);
    if (digit.dim != sm::Digit::replicas)
      place.origin[digit.dim] = s.add(place.origin[digit.dim], s.mul(number, digit.stride));
    else if (digit.size > 1)
      first = s.both(first, s.compare(Scalars::Compare::eq, number, 0));
  }
  return first;
}

/// Emits the coordinates of the thread with this lane and warp.
static ThreadCoordinates placeOf(Scalars &s, RankedTensorType tile, Value lane, Value warp) {
  sm::LayoutAttr layout = sm::layoutOf(tile);
  ThreadCoordinates place;
  place.origin.assign(tile.getRank(), s.i32(0));
  Value firstLane = addDigits(s, lane, layout.getLanes(), place);
  place.writes = s.both(firstLane, addDigits(s, warp, layout.getWarps(), place));
  return place;
}

ThreadCoordinates Threads::place(RankedTensorType tile) {
  sm::LayoutAttr layout = sm::layoutOf(tile);
  auto [entry, isNew] = places_.try_emplace({layout, tile.getRank()});
  if (!isNew)
    return entry->second;
  ThreadCoordinates place;
  atEntry([&] {
    place = placeOf(s, tile, lane_, warp_);
    return place.writes;
  });
  return places_[{layout, tile.getRank()}] = place;
}

ThreadCoordinates Threads::recomputePlace(RankedTensorType tile) { return placeOf(s, tile, opaque(lane_), warp_); }

/// Returns the largest coordinate that these digits contribute to `dim`.
static int64_t largest(ArrayRef<sm::Digit> digits, unsigned dim) {
  int64_t sum = 0;
  for (const sm::DigitAlong &digit : sm::digitsAlong(digits, dim))
    sum += (digit.size - 1) * digit.stride;
  return sum;
}

Value Threads::inside(RankedTensorType tile, unsigned reg, unsigned dim) {
  sm::LayoutAttr layout = sm::layoutOf(tile);
  int64_t offset = registerOffset(tile, reg)[dim], room = tile.getDimSize(dim) - offset;
  if (largest(layout.getLanes(), dim) + largest(layout.getWarps(), dim) < room)
    return nullptr;
  return s.compare(Scalars::Compare::slt, place(tile).origin[dim], room);
}

Value Threads::insideOr(RankedTensorType tile, unsigned reg, unsigned dim, Value element, TypedAttr otherwise) {
  Value isInside = inside(tile, reg, dim);
  return isInside ? s.select(isInside, element, arith::ConstantOp::create(b, otherwise)) : element;
}

Value Threads::inside(RankedTensorType tile, unsigned reg) {
  Value all;
  for (unsigned dim = 0; dim < tile.getRank(); ++dim)
    all = s.both(all, inside(tile, reg, dim));
  return all;
}
