// SPDX-License-Identifier: MIT
#include "compiler/cuda/Footprint.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

/// Of a loop's variable, if tiles of `size` do not overlap.
static Coordinate coordinateOf(Value position, int64_t size) {
  auto loop = scf::getForInductionVarOwner(position);
  APInt step;
  if (!loop || !matchPattern(loop.getStep(), m_ConstantInt(&step)) || step.getSExtValue() < size)
    return {.fixed = position};
  return {.fixed = {}, .first = getAsOpFoldResult(loop.getLowerBound()), .step = step.getSExtValue()};
}

static SmallVector<Coordinate, 2> coordinatesOf(ValueRange position, ArrayRef<int64_t> shape) {
  return llvm::map_to_vector<2>(llvm::zip_equal(position, shape), [](auto dim) {
    auto [at, size] = dim;
    return coordinateOf(at, size);
  });
}

/// Of a load or store.
static std::optional<Footprint> footprintOf(Value view, RankedTensorType tile, ValueRange position) {
  if (!sm::layoutOf(tile))
    return std::nullopt;
  return Footprint{view, tile, coordinatesOf(position, tile.getShape()), sm::rowsOfWarp(tile)};
}

/// Which thread writes what depends on whether the columns lie in chunks, whatever the rows. A ring needs its barrier
/// for those who read it.
static std::optional<Footprint> footprintOf(sm::CopyInOp copy) {
  if (copy.getShared().getDefiningOp<sm::SlotOp>())
    return std::nullopt;
  return Footprint{copy.getView(), copy.getShared().getType(), {Coordinate{.fixed = copy.getPosition().back()}}};
}

/// Of the side in global memory, or of that in shared memory.
static std::optional<Footprint> footprintOf(sm::CopyOutOp copy, Value place) {
  auto rows = static_cast<int64_t>(copy.getRowsOfWarp().value_or(0));
  if (rows == 0)
    return std::nullopt;
  if (place == copy.getShared())
    return Footprint{.rowsOfWarp = rows};
  return Footprint{.view = place, .position = coordinatesOf(copy.getPosition(), copy.getShape()), .rowsOfWarp = rows};
}

/// Of the left operand, unless the right one is the same.
template <class Product>
static std::optional<Footprint> footprintOf(Product product, RankedTensorType tile, Value place, bool ofProduct) {
  if (place != product.getLhs() || place == product.getRhs())
    return std::nullopt;
  return Footprint{.rowsOfWarp = sm::rowsOfWarp(tile), .ofProduct = ofProduct};
}

bool Footprint::namesValuesOf(Operation *loop) const {
  auto isInside = [&](Value value) { return value && loop->isAncestor(value.getParentBlock()->getParentOp()); };
  return isInside(view) || llvm::any_of(position, [&](const Coordinate &coordinate) {
           return isInside(coordinate.fixed) || isInside(dyn_cast_if_present<Value>(coordinate.first));
         });
}

static bool isCopies(const sm::Digit &digit) { return digit.dim == sm::Digit::copies; }

bool Footprint::hasCopies() const {
  sm::LayoutAttr layout = sm::layoutOf(tile);
  return layout && (llvm::any_of(layout.getLanes(), isCopies) || llvm::any_of(layout.getWarps(), isCopies));
}

bool Footprint::hasCopiesOfOneWarp() const {
  return hasCopies() && llvm::none_of(sm::layoutOf(tile).getWarps(), isCopies);
}

bool Footprint::isOfSameWarps(const Footprint &other) const {
  return rowsOfWarp != 0 && rowsOfWarp == other.rowsOfWarp && view == other.view && position == other.position;
}

std::optional<Footprint> cuda::footprintOf(Operation *op, Value place) {
  if (auto write = dyn_cast<sm::WriteOp>(op)) {
    RankedTensorType tile = write.getTile().getType();
    Footprint footprint{.tile = tile, .rowsOfWarp = sm::rowsOfWarp(tile)};
    return footprint.rowsOfWarp != 0 && !footprint.hasCopies() ? std::optional(footprint) : std::nullopt;
  }
  if (auto product = dyn_cast<sm::WgmmaOp>(op))
    return ::footprintOf(product, product.getType().getTile(), place, /*ofProduct=*/true);
  if (auto product = dyn_cast<sm::MmaOp>(op); product && !product.getTransposeLhs())
    return ::footprintOf(product, product.getType(), place, /*ofProduct=*/false);
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return ::footprintOf(load.getView(), load.getType(), load.getPosition());
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return ::footprintOf(store.getView(), store.getTile().getType(), store.getPosition());
  if (auto copy = dyn_cast<sm::CopyInOp>(op); copy && place == copy.getShared())
    return ::footprintOf(copy);
  if (auto copy = dyn_cast<sm::CopyOutOp>(op))
    return ::footprintOf(copy, place);
  return std::nullopt;
}
