// SPDX-License-Identifier: MIT
#include "compiler/sm/Boxes.h"

#include "compiler/sm/Multiples.h"
#include "compiler/tile/IntegerRanges.h"
#include "compiler/tile/Tile.h"

namespace tegula::sm {

using namespace mlir;

bool isCopiedByTma(Type element) {
  const unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
  return bits == 8 || bits == 16 || bits == 32;
}

int64_t boxUnit(Type element) {
  constexpr int64_t bits = 16 * 8;
  return bits / element.getIntOrFloatBitWidth();
}

bool startsAtBox(Value column, Type element) { return isMultipleOf(column, boxUnit(element)); }

bool hasEnd(Value view) {
  const std::optional<tile::TensorPosition> place = tile::positionInTensor(view, {});
  return place && place->begin;
}

std::string whyNotAddressed(Value view) {
  if (!tile::positionInTensor(view, {}))
    return "TMA moves rows(begin, end) of a matrix only, and no rows of such rows";
  const auto rank = cast<tile::ViewType>(tile::rootOf(view).getType()).getRank();
  if (hasEnd(view) && rank > kMaxRankWithEnd)
    return "its tensor has " + std::to_string(rank) +
           " dimensions; with rows(begin, end), TMA moves tiles of at most " + std::to_string(kMaxRankWithEnd);
  return "";
}

bool startsInRows(Value view, ValueRange position) {
  const std::optional<tile::TensorPosition> place = tile::positionInTensor(view, position);
  return place && (!place->begin || tile::IntegerRanges().of(place->indices[1]).smin().isNonNegative());
}

int64_t boxRows(int64_t rows) {
  if (rows <= kMaxBox)
    return rows;
  int64_t part = kMaxBox;
  while (part > 0 && rows % part != 0)
    part -= kSwizzleRows;
  return part;
}

} // namespace tegula::sm
