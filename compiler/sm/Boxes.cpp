// SPDX-License-Identifier: MIT
#include "compiler/sm/Boxes.h"

#include "compiler/sm/Multiples.h"
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

std::string whyNotAddressed(Value view) {
  return tile::positionInTensor(view, {}) ? "" : "TMA does not end boxes at rows(begin, end)";
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
