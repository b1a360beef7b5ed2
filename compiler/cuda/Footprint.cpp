// SPDX-License-Identifier: MIT
#include "compiler/cuda/Footprint.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

static bool isOutsideOfLoops(Value value) {
  Operation *parent = value.getParentBlock()->getParentOp();
  return !isa<LoopLikeOpInterface>(parent) && !parent->getParentOfType<LoopLikeOpInterface>();
}

/// If tiles of `size` neither move between iterations nor overlap.
static std::optional<Coordinate> coordinateOf(Value position, int64_t size) {
  if (isOutsideOfLoops(position))
    return Coordinate{.fixed = position};
  auto loop = scf::getForInductionVarOwner(position);
  APInt first, step;
  if (!loop || !matchPattern(loop.getLowerBound(), m_ConstantInt(&first)) ||
      !matchPattern(loop.getStep(), m_ConstantInt(&step)) || step.getSExtValue() < size)
    return std::nullopt;
  return Coordinate{.fixed = {}, .first = first.getSExtValue(), .step = step.getSExtValue()};
}

static std::optional<Footprint> footprintOf(Value view, Type tile, ValueRange position) {
  Footprint footprint{view, tile, {}};
  if (!isOutsideOfLoops(view) || !sm::layoutOf(tile))
    return std::nullopt;
  for (auto [at, size] : llvm::zip_equal(position, cast<RankedTensorType>(tile).getShape())) {
    std::optional<Coordinate> coordinate = coordinateOf(at, size);
    if (!coordinate)
      return std::nullopt;
    footprint.position.push_back(*coordinate);
  }
  return footprint;
}

/// Which thread writes what depends on whether the columns lie in chunks, whatever the rows. A ring needs its barrier
/// for those who read it.
static std::optional<Footprint> footprintOf(sm::CopyInOp copy) {
  Value column = copy.getPosition().back();
  bool isRing = copy.getShared().getDefiningOp<sm::SlotOp>();
  if (isRing || !isOutsideOfLoops(copy.getView()) || !isOutsideOfLoops(column))
    return std::nullopt;
  return Footprint{copy.getView(), copy.getShared().getType(), {Coordinate{.fixed = column}}};
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
  return rowsOfWarp != 0 && rowsOfWarp == other.rowsOfWarp && view.getType() == other.view.getType();
}

std::optional<Footprint> cuda::footprintOf(Operation *op, Value place) {
  if (auto write = dyn_cast<sm::WriteOp>(op)) {
    Footprint footprint{place, write.getTile().getType(), {}, sm::rowsOfWarp(write.getTile().getType())};
    return footprint.rowsOfWarp != 0 && !footprint.hasCopies() ? std::optional(footprint) : std::nullopt;
  }
  if (auto copy = dyn_cast<sm::CopyOutOp>(op); copy && place == copy.getShared() && copy.getRowsOfWarp())
    return Footprint{place, {}, {}, static_cast<int64_t>(*copy.getRowsOfWarp())};
  if (auto product = dyn_cast<sm::WgmmaOp>(op); product && place == product.getLhs() && place != product.getRhs())
    return Footprint{place, {}, {}, sm::rowsOfWarp(cast<RankedTensorType>(product.getType().getTile())), true};
  if (auto product = dyn_cast<sm::MmaOp>(op);
      product && place == product.getLhs() && place != product.getRhs() && !product.getTransposeLhs())
    return Footprint{place, {}, {}, sm::rowsOfWarp(product.getType())};
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return ::footprintOf(load.getView(), load.getType(), load.getPosition());
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return ::footprintOf(store.getView(), store.getTile().getType(), store.getPosition());
  if (auto copy = dyn_cast<sm::CopyInOp>(op))
    return ::footprintOf(copy);
  return std::nullopt;
}
