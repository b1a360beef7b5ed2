// SPDX-License-Identifier: MIT
// Ops that make a view of another view: where the elements of their results are.
#include "compiler/tile/Scalars.h"
#include "compiler/tile/Tile.h"

using namespace mlir;
using namespace tegula::tile;

#include "compiler/tile/ViewInterface.cpp.inc"

void ViewParts::advance(Scalars &s, Value elements) {
  base = s.add(base, s.mul(s.cast(elements, base.getType()), unit));
}

std::optional<TensorPosition> tegula::tile::positionInTensor(Value view, ValueRange position) {
  TensorPosition result{SmallVector<Value>(llvm::reverse(position))};
  for (auto op = view.getDefiningOp<ViewOpInterface>(); op; op = op.getViewSource().getDefiningOp<ViewOpInterface>())
    if (!op.changePosition(result))
      return std::nullopt;
  return result;
}

void SliceOp::changeParts(Scalars &s, ViewParts &parts, function_ref<Value(Value)> lowered) {
  const unsigned fixed = getIndices().size();
  Value inside;
  for (unsigned dim = 0; dim < fixed; ++dim) {
    Value index = lowered(getIndices()[dim]);
    // The compare is unsigned, so that a negative index counts as huge.
    inside = s.both(inside, s.compare(Scalars::Compare::ult, index, parts.sizes[dim]));
    parts.advance(s, s.mul(index, parts.strides[dim]));
  }
  parts.sizes.erase(parts.sizes.begin(), parts.sizes.begin() + fixed);
  parts.strides.erase(parts.strides.begin(), parts.strides.begin() + fixed);
  for (Value &size : parts.sizes)
    size = inside ? s.select(inside, size, s.index(0)) : size;
}

bool SliceOp::changePosition(TensorPosition &position) {
  llvm::append_range(position.indices, llvm::reverse(getIndices()));
  return true;
}

RowRange tegula::tile::clipRows(Scalars &s, Value begin, Value end, Value size) {
  Value first = s.minUnsigned(begin, size);
  return {first, s.min(s.max(end, first), size)};
}

void RowsOp::changeParts(Scalars &s, ViewParts &parts, function_ref<Value(Value)> lowered) {
  const RowRange rows = clipRows(s, lowered(getBegin()), lowered(getEnd()), parts.sizes.front());
  parts.advance(s, s.mul(rows.first, parts.strides.front()));
  parts.sizes.front() = s.sub(rows.end, rows.first);
}

bool RowsOp::changePosition(TensorPosition &position) {
  if (getView().getType().getRank() != 2 || position.begin)
    return false;
  position.begin = getBegin();
  position.end = getEnd();
  return true;
}
