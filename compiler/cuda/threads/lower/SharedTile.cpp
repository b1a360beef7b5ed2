// SPDX-License-Identifier: MIT
#include "compiler/cuda/threads/lower/SharedTile.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

Type cuda::storedType(Type element) {
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8) : element;
}

Origin cuda::originOf(Threads &t, sm::LayoutAttr layout, unsigned rank) {
  auto tile = RankedTensorType::get(SmallVector<int64_t>(rank, 1), t.b.getI32Type(), layout);
  return {t.place(tile).origin, sm::threadSpread(layout, rank)};
}

SharedTile::SharedTile(Threads &t, SharedPlace shared, Origin origin, ArrayRef<int64_t> shape)
    : s(t.s), type_(shared.type), shape_(shape), origin_(std::move(origin)), address_(shared.address),
      place_(offset(origin_.coordinates, origin_.spread)) {}

Value SharedTile::plainOffset(ValueRange coordinates) {
  Value index = s.i32(0);
  for (auto [size, coordinate] : llvm::zip_equal(shape_, coordinates))
    index = s.add(s.mul(index, size), coordinate);
  return s.mul(index, type_.elementBytes());
}

// Emits sm::panelOffset for coordinates that are known at run time.
Value SharedTile::offset(ValueRange coordinates, ArrayRef<sm::Spread> spread) {
  int64_t panel = type_.getPanel();
  if (panel == 0)
    return plainOffset(coordinates);
  Value row = coordinates[0], byte = s.mul(coordinates[1], type_.elementBytes());
  Value start = s.mul(row, panel);
  if (spread[1].last * type_.elementBytes() >= panel) {
    start = s.add(start, s.mul(s.div(byte, panel), shape_[0] * panel));
    byte = s.rem(byte, panel);
  }
  int64_t chunks = panel / 16;
  Value swizzle = s.rem(s.div(row, 8 / chunks), chunks);
  return s.add(start, s.bitXor(byte, s.mul(swizzle, 16)));
}

Value SharedTile::at(ArrayRef<int64_t> distance) {
  if (auto step = sm::displacementAlong(shape_, type_.elementBytes(), type_.getPanel(), origin_.spread, distance)) {
    Value place = s.bitXor(place_, s.i32(step->flip));
    return s.add(s.add(address_, place), step->add);
  }
  Origin there = origin_;
  for (auto [coordinate, spread, steps] : llvm::zip_equal(there.coordinates, there.spread, distance)) {
    coordinate = s.add(coordinate, steps);
    spread.last += steps;
  }
  return s.add(address_, offset(there.coordinates, there.spread));
}

/// Returns true if a coordinate with this spread, plus `distance`, can be as large as `size`.
static bool reaches(const sm::Spread &spread, int64_t distance, int64_t size) { return spread.last + distance >= size; }

Value SharedTile::contains(ArrayRef<int64_t> distance) {
  Value all;
  for (auto [size, coordinate, spread, steps] : llvm::zip_equal(shape_, origin_.coordinates, origin_.spread, distance))
    if (reaches(spread, steps, size))
      all = s.both(all, s.compare(Scalars::Compare::slt, coordinate, size - steps));
  return all;
}

Value SharedTile::atOrInside(ArrayRef<int64_t> distance, int64_t elements) {
  Origin there = origin_;
  bool leaves = false;
  for (auto [size, spread, steps] : llvm::zip_equal(shape_, there.spread, distance)) {
    leaves |= reaches(spread, steps, size);
    spread.last += steps;
  }
  if (!leaves)
    return at(distance);
  SmallVector<int64_t> last = llvm::map_to_vector(shape_, [](int64_t size) { return size - 1; });
  last.back() = shape_.back() - elements;
  for (auto [coordinate, steps, limit] : llvm::zip_equal(there.coordinates, distance, last))
    coordinate = s.clamp(s.add(coordinate, steps), limit);
  return s.add(address_, offset(there.coordinates, there.spread));
}
