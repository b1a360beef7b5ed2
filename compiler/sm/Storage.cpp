// SPDX-License-Identifier: MIT
#include "compiler/sm/Storage.h"

#include "compiler/sm/Elements.h"

using namespace mlir;
using namespace tegula::sm;

//===-- Fragments -------------------------------------------------------------------------------------------------===//

static int64_t sizeOf(ArrayRef<Digit> digits, int32_t dim, int64_t stride) {
  const Digit *digit = llvm::find_if(digits, [=](const Digit &d) { return d.dim == dim && d.stride == stride; });
  return digit == digits.end() ? 1 : digit->size;
}

/// Reads blocks and warps from the digits of `layout`. If `layout` is not a fragment layout, the result is meaningless,
/// so callers build the layout again and compare.
static Fragments gridOf(LayoutAttr layout, int32_t warpsN) {
  ArrayRef<Digit> registers = layout.getRegisters(), warps = layout.getWarps();
  Fragments grid{.rowStride = 16};
  grid.rows = sizeOf(registers, 0, 16);
  grid.columns = std::max<int64_t>(sizeOf(registers, 1, 8) / 2, 1);
  grid.warpsM = sizeOf(warps, 0, 16 * grid.rows);
  grid.warpsN = sizeOf(warps, warpsN, warpsN == Digit::replicas ? 0 : 16 * grid.columns);
  return grid;
}

std::optional<Fragments> tegula::sm::accumulatorFragments(LayoutAttr layout) {
  Fragments grid = gridOf(layout, 1);
  auto [rows, columns, warpsM, warpsN, rowStride] = grid;
  LayoutAttr same = accumulatorLayout(layout.getContext(), 16 * rows * warpsM, 16 * columns * warpsN, warpsM, warpsN);
  return layout == same ? std::optional(grid) : std::nullopt;
}

std::optional<Fragments> tegula::sm::warpgroupFragments(LayoutAttr layout) {
  Fragments grid = gridOf(layout, 1);
  grid.warpsM = sizeOf(layout.getWarps(), 0, 16);
  grid.rowStride = 16 * grid.warpsM;
  grid.rows = sizeOf(layout.getRegisters(), 0, grid.rowStride);
  auto [rows, columns, warpsM, warpsN, rowStride] = grid;
  LayoutAttr same = warpgroupLayout(layout.getContext(), rowStride * rows, 16 * columns * warpsN, warpsM, warpsN);
  return layout == same && warpsM % kWarpsPerWarpgroup == 0 ? std::optional(grid) : std::nullopt;
}

std::optional<Fragments> tegula::sm::operandFragments(LayoutAttr layout) {
  Fragments grid = gridOf(layout, Digit::replicas);
  auto [rows, columns, warpsM, warpsN, rowStride] = grid;
  LayoutAttr same = operandLayout(layout.getContext(), 16 * rows * warpsM, 16 * columns, warpsM, warpsN);
  return layout == same ? std::optional(grid) : std::nullopt;
}

SharedType tegula::sm::additionBuffer(RankedTensorType tile) {
  LayoutAttr layout = layoutOf(tile);
  std::optional<Fragments> grid = layout && tile.getRank() == 2 ? warpgroupFragments(layout) : std::nullopt;
  if (!grid || !tile.getElementType().isF32() || tile.getDimSize(0) != grid->rowStride * grid->rows)
    return {};
  const int64_t ofPanel = panelColumns(tile.getElementType()), ofWarp = 16 * grid->columns;
  if (tile.getDimSize(1) > ofWarp * grid->warpsN || (grid->warpsN > 1 && ofWarp % ofPanel != 0))
    return {};
  const int64_t columns = llvm::alignTo(ofWarp * grid->warpsN, ofPanel);
  return SharedType::get(tile.getContext(), {tile.getDimSize(0), columns}, tile.getElementType(), kPanelBytes);
}

IntegerAttr tegula::sm::limitOfColumns(RankedTensorType tile) {
  const int64_t columns = tile.getDimSize(1);
  const bool hasPadding = additionBuffer(tile).getShape()[1] > columns;
  return hasPadding ? Builder(tile.getContext()).getI64IntegerAttr(columns) : IntegerAttr();
}

/// Returns the layout in which lanes address the four 8 x 8 matrices of a block: down the rows first, or, with
/// `rowsLast`, along the columns first.
static LayoutAttr matrices(MLIRContext *context, bool rowsLast, ArrayRef<Digit> warps) {
  Digits several;
  llvm::copy_if(warps, std::back_inserter(several), [](const Digit &digit) { return digit.size > 1; });
  if (rowsLast)
    return LayoutAttr::get(context, {}, Digits{{0, 8, 1}, {1, 2, 8}, {0, 2, 8}}, several);
  return LayoutAttr::get(context, {}, Digits{{0, 16, 1}, {1, 2, 8}}, several);
}

LayoutAttr tegula::sm::lhsMatrices(MLIRContext *context, const Fragments &grid, bool transposed) {
  return matrices(context, transposed, {{transposed, grid.warpsM, 16 * grid.rows}, {Digit::replicas, grid.warpsN, 0}});
}

LayoutAttr tegula::sm::rhsMatrices(MLIRContext *context, const Fragments &grid, bool transposed) {
  return matrices(context, transposed,
                  {{Digit::replicas, grid.warpsM, 0}, {!transposed, grid.warpsN, 16 * grid.columns}});
}

LayoutAttr tegula::sm::blockMatrices(LayoutAttr layout) {
  return LayoutAttr::get(layout.getContext(), {}, Digits{{0, 16, 1}, {1, 2, 8}}, layout.getWarps());
}

//===-- Addresses -------------------------------------------------------------------------------------------------===//

static void widen(SmallVectorImpl<Spread> &spread, const Coordinates &lane, const Coordinates &warp) {
  for (auto [one, x, y] : llvm::zip_equal(spread, lane, warp)) {
    one.bits |= x + y;
    one.last = std::max(one.last, x + y);
  }
}

SmallVector<Spread> tegula::sm::threadSpread(LayoutAttr layout, unsigned rank) {
  SmallVector<Spread> spread(rank);
  for (int64_t warp = 0; warp < countOf(layout.getWarps()); ++warp)
    for (int64_t lane = 0; lane < kWarpSize; ++lane)
      widen(spread, coordinatesOf(layout.getLanes(), lane, rank), coordinatesOf(layout.getWarps(), warp, rank));
  return spread;
}

static int64_t linear(ArrayRef<int64_t> shape, ArrayRef<int64_t> distance) {
  int64_t result = 0;
  for (auto [size, steps] : llvm::zip_equal(shape, distance))
    result = result * size + steps;
  return result;
}

std::optional<Displacement> tegula::sm::displacementAlong(ArrayRef<int64_t> shape, unsigned elementBytes, int64_t panel,
                                                          ArrayRef<Spread> from, ArrayRef<int64_t> distance) {
  if (panel == 0)
    return Displacement{0, linear(shape, distance) * elementBytes};
  // The swizzle repeats every 8 rows and every panel. Within such a block, the addition of coordinates without common
  // bits has no carry. The chunk of the sum is then the exclusive or of both chunks.
  constexpr int64_t period = 8;
  int64_t row = distance[0], byte = distance[1] * elementBytes;
  bool carries = (from[0].bits & row & (period - 1)) || (from[1].bits * elementBytes & byte & (panel - 1));
  if (carries)
    return std::nullopt;
  int64_t swizzled = panelOffset(shape, elementBytes, panel, row % period, distance[1] % (panel / elementBytes));
  Displacement way;
  way.flip = (swizzled % panel) & ~int64_t(15);
  way.add = byte / panel * shape[0] * panel + row * panel + byte % 16;
  return way;
}
