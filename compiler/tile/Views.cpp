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
  std::optional<TensorPosition> result = positionInPages(view, position);
  return result && result->page == 0 ? result : std::nullopt;
}

std::optional<TensorPosition> tegula::tile::positionInPages(Value view, ValueRange position) {
  TensorPosition result{SmallVector<Value>(llvm::reverse(position))};
  if (position.empty())
    result.indices.resize(cast<ViewType>(view.getType()).getRank());
  for (auto op = view.getDefiningOp<ViewOpInterface>(); op; op = op.getViewSource().getDefiningOp<ViewOpInterface>())
    if (!op.changePosition(result))
      return std::nullopt;
  return result;
}

//===-- Places ---------------------------------------------------------------------------------------------------===//

/// Returns an i1: true if 0 <= index < size. The compare is unsigned, so that a negative index counts as huge.
static Value isIndexOf(Scalars &s, Value index, Value size) { return s.compare(Scalars::Compare::ult, index, size); }

RowInPages ViewParts::rowInPages(Scalars &s, Value index, LoweredProgram &program) const {
  Value fromFirst = s.add(pages->first, index);
  Value number = s.div(fromFirst, pages->rows), row = s.rem(fromFirst, pages->rows);
  Value page = pages->table ? program.entry(pages->table, number) : number;
  Value held = pages->held, isInPage = s.both(isIndexOf(s, page, pages->count), isIndexOf(s, row, held));
  if (pages->lengths) {
    Value length = program.entry(pages->lengths, number);
    held = s.min(held, length);
    isInPage = s.both(isInPage, s.compare(Scalars::Compare::slt, row, length)); // A negative length is no row.
  }
  return {s.both(isIndexOf(s, index, sizes.front()), isInPage), page, row, held};
}

IndexPlace ViewParts::placeOf(Scalars &s, unsigned dim, Value index, LoweredProgram &program) const {
  if (isInPages(dim)) {
    const RowInPages place = rowInPages(s, index, program);
    return {place.exists, s.mul(place.page, pages->stride), s.mul(place.row, strides.front())};
  }
  return {isIndexOf(s, index, sizes[dim]), nullptr, s.mul(index, strides[dim])};
}

//===-- Slices ---------------------------------------------------------------------------------------------------===//

void SliceOp::changeParts(Scalars &s, ViewParts &parts, LoweredProgram &program) {
  const size_t first = getAxis(), end = first + getIndices().size();
  Value inside;
  for (size_t dim = first; dim < end; ++dim) {
    Value index = program.scalar(getIndices()[dim - first]);
    if (parts.isInPages(dim)) {
      const IndexPlace place = parts.placeOf(s, dim, index, program);
      inside = place.isInside;
      parts.advance(s, s.add(place.toPage, place.distance));
      parts.pages.reset();
    } else {
      inside = s.both(inside, isIndexOf(s, index, parts.sizes[dim]));
      parts.advance(s, s.mul(index, parts.strides[dim]));
    }
  }
  parts.sizes.erase(parts.sizes.begin() + first, parts.sizes.begin() + end);
  parts.strides.erase(parts.strides.begin() + first, parts.strides.begin() + end);
  for (Value &size : parts.sizes)
    size = inside ? s.select(inside, size, s.index(0)) : size;
}

bool SliceOp::changePosition(TensorPosition &position) {
  const auto reversed = llvm::to_vector(llvm::reverse(getIndices()));
  position.indices.insert(position.indices.end() - getAxis(), reversed.begin(), reversed.end());
  return true;
}

//===-- Rows -----------------------------------------------------------------------------------------------------===//

RowRange tegula::tile::clipRows(Scalars &s, Value begin, Value end, Value size) {
  Value first = s.minUnsigned(begin, size);
  return {first, s.min(s.max(end, first), size)};
}

void RowsOp::changeParts(Scalars &s, ViewParts &parts, LoweredProgram &program) {
  const RowRange rows = clipRows(s, program.scalar(getBegin()), program.scalar(getEnd()), parts.sizes.front());
  if (parts.pages)
    parts.pages->first = s.add(parts.pages->first, rows.first);
  else
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

//===-- Pages ----------------------------------------------------------------------------------------------------===//

bool tegula::tile::isInPages(Value view) {
  if (auto rows = view.getDefiningOp<RowsOp>())
    return isInPages(rows.getView());
  if (auto slice = view.getDefiningOp<SliceOp>(); slice && slice.keepsFirstDimension())
    return isInPages(slice.getView());
  return static_cast<bool>(view.getDefiningOp<PagesOp>());
}

void PagesOp::changeParts(Scalars &s, ViewParts &parts, LoweredProgram &program) {
  const auto page = getPage();
  Pages pages{.table = getTable(),
              .lengths = getLengths(),
              .first = s.index(0),
              .count = parts.sizes[0],
              .held = parts.sizes[1]};
  pages.stride = parts.strides[0];
  // A division needs a page with rows, even if the pool has none.
  pages.rows = page ? s.index(static_cast<int64_t>(*page)) : s.max(pages.held, s.index(1));
  parts.sizes.erase(parts.sizes.begin());
  parts.strides.erase(parts.strides.begin());
  Value number = getTable() ? program.sizeOf(getTable()) : pages.count;
  parts.sizes.front() = s.mul(number, page ? pages.rows : pages.held);
  parts.pages = pages;
}

bool PagesOp::changePosition(TensorPosition &position) {
  position.page = static_cast<int64_t>(getPage().value_or(0));
  position.indices.push_back(nullptr);
  return getTable() && getResult().getType().getRank() == 2;
}
