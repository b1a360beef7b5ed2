// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/analysis/Footprint.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

static bool isReplica(const sm::Digit &digit) { return digit.dim == sm::Digit::replicas; }

/// Returns true if only the first warp touches memory. All other warps then hold padding, or replicas that a store does
/// not write.
static bool isOfFirstWarp(RankedTensorType tile, bool stores) {
  return llvm::all_of(sm::layoutOf(tile).getWarps(), [&](const sm::Digit &digit) {
    return isReplica(digit) ? stores : digit.stride >= tile.getDimSize(digit.dim);
  });
}

/// Returns `position` as the variable of a loop if tiles of `size` do not overlap in this loop, otherwise as a fixed
/// value.
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

/// Returns the footprint of a load or store.
static std::optional<Footprint> footprintOf(Value view, RankedTensorType tile, ValueRange position, bool stores) {
  if (!sm::layoutOf(tile))
    return std::nullopt;
  return Footprint{.view = view,
                   .tile = tile,
                   .position = coordinatesOf(position, tile.getShape()),
                   .ofWarp = {sm::extentOfWarp(tile, 0), sm::extentOfWarp(tile, 1)},
                   .ofFirstWarp = isOfFirstWarp(tile, stores)};
}

/// Returns the footprint of a copy to a buffer. The distribution over threads depends on the column, which decides
/// whether the copy uses 16-byte chunks, but not on the rows. None for a ring, which needs its barrier for its readers.
static std::optional<Footprint> footprintOf(sm::CopyInOp copy) {
  if (copy.getShared().getDefiningOp<sm::SlotOp>())
    return std::nullopt;
  return Footprint{copy.getView(), copy.getShared().getType(), {Coordinate{.fixed = copy.getPosition().back()}}};
}

/// Returns the footprint of the view or the buffer of a copy in which each warp has `rows` rows.
template <class Op>
static std::optional<Footprint> footprintOf(Op copy, ArrayRef<int64_t> shape, int64_t rows, Value place) {
  if (place == copy.getShared())
    return Footprint{.ofWarp = {rows, 0}};
  return Footprint{.view = place, .position = coordinatesOf(copy.getPosition(), shape), .ofWarp = {rows, 0}};
}

/// Returns the footprint of an operand. Each warp reads the part that its part of the result is computed from. None if
/// both operands are the same.
static std::optional<Footprint> footprintOf(sm::MmaOp product, Value place) {
  if (product.getLhs() == product.getRhs())
    return std::nullopt;
  unsigned dim = place == product.getLhs() ? 0 : 1;
  bool isTransposed = dim == 0 ? product.getTransposeLhs() : product.getTransposeRhs();
  Footprint footprint;
  footprint.ofWarp[isTransposed ? 1 - dim : dim] = sm::extentOfWarp(product.getType(), dim);
  return footprint;
}

/// Returns the footprint of the left operand. None for the right one, which all warps of a warpgroup read.
static std::optional<Footprint> footprintOf(sm::AsyncProduct product, Value place) {
  if (place != product.getLhs() || place == product.getRhs())
    return std::nullopt;
  Footprint footprint{.ofMma = true};
  footprint.ofWarp[product.getTransposeLhs() ? 1 : 0] = sm::extentOfWarp(product.getSum(), 0);
  return footprint;
}

/// Returns the footprint of a write, in which each lane writes its elements. None if several lanes have the same
/// element, or if the buffer is larger than the tile: any thread may clear the rest.
static std::optional<Footprint> footprintOf(sm::WriteOp write) {
  RankedTensorType tile = write.getTile().getType();
  if (tile.getShape() != write.getShared().getType().getShape())
    return std::nullopt;
  Footprint footprint{.tile = tile, .ofWarp = {sm::extentOfWarp(tile, 0), sm::extentOfWarp(tile, 1)}};
  return footprint.isReplicated() ? std::nullopt : std::optional(footprint);
}

/// Returns the footprint of a read. Lanes of a warp may read for each other, so only rows and columns of warps are
/// known.
static std::optional<Footprint> footprintOf(sm::ReadOp read) {
  RankedTensorType tile = read.getResult().getType();
  if (read.getReshaped())
    return std::nullopt;
  return Footprint{.ofWarp = {sm::extentOfWarp(tile, 0), read.getFirst() ? 0 : sm::extentOfWarp(tile, 1)}};
}

/// Returns the footprint of the buffer of an addition.
static std::optional<Footprint> footprintOf(sm::TmaAddOp add, Value place) {
  if (place != add.getShared())
    return std::nullopt;
  return Footprint{.tile = add.tile(), .byOneLane = true};
}

void Footprint::forgetValuesOf(Operation *loop) {
  auto isInside = [&](Value value) { return value && loop->isAncestor(value.getParentBlock()->getParentOp()); };
  if (isInside(view) || llvm::any_of(position, [&](const Coordinate &coordinate) {
        return isInside(coordinate.fixed) || isInside(dyn_cast_if_present<Value>(coordinate.first));
      }))
    *this = Footprint{.ofFirstWarp = ofFirstWarp};
}

bool Footprint::isReplicated() const {
  sm::LayoutAttr layout = sm::layoutOf(tile);
  return layout && (llvm::any_of(layout.getLanes(), isReplica) || llvm::any_of(layout.getWarps(), isReplica));
}

bool Footprint::hasCopiesOfOneWarp() const {
  return isReplicated() && llvm::none_of(sm::layoutOf(tile).getWarps(), isReplica);
}

bool Footprint::isOfSameWarps(const Footprint &other, unsigned dim) const {
  return ofWarp[dim] != 0 && ofWarp[dim] == other.ofWarp[dim] && view == other.view && position == other.position;
}

std::optional<Footprint> cuda::footprintOf(Operation *op, Value place) {
  if (auto write = dyn_cast<sm::WriteOp>(op))
    return ::footprintOf(write);
  if (auto read = dyn_cast<sm::ReadOp>(op))
    return ::footprintOf(read);
  if (auto product = dyn_cast<sm::MmaOp>(op))
    return ::footprintOf(product, place);
  if (auto product = dyn_cast<sm::AsyncProduct>(op))
    return ::footprintOf(product, place);
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return ::footprintOf(load.getView(), load.getType(), load.getPosition(), /*stores=*/false);
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return ::footprintOf(store.getView(), store.getTile().getType(), store.getPosition(), /*stores=*/true);
  if (auto copy = dyn_cast<sm::CopyInOp>(op); copy && place == copy.getShared())
    return ::footprintOf(copy);
  if (auto copy = dyn_cast<sm::CopyOutOp>(op); copy && copy.getRowsOfWarp())
    return ::footprintOf(copy, copy.getShape(), static_cast<int64_t>(*copy.getRowsOfWarp()), place);
  if (auto store = dyn_cast<sm::TmaStoreOp>(op))
    return ::footprintOf(store, store.getShared().getType().getShape(), static_cast<int64_t>(store.getRowsOfWarp()),
                         place);
  if (auto add = dyn_cast<sm::TmaAddOp>(op))
    return ::footprintOf(add, place);
  return std::nullopt;
}
