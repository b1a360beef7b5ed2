// SPDX-License-Identifier: MIT
#include "compiler/simplify/Passes.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tegula::simplify {
#define GEN_PASS_DEF_HOISTGATHERS
#include "compiler/simplify/Passes.h.inc"
} // namespace tegula::simplify

using namespace mlir;
using namespace tegula;

/// The most elements of a gather that is hoisted: those of a row or a column of a tile. More would take the registers
/// that the loop needs.
constexpr int64_t kMaxElements = 512;

/// Returns true if `op`, in the body of this loop, depends on nothing that changes in the loop. Adds `op` and the ops
/// of the body that it needs to `inside`, in order.
static bool isInvariant(Operation *op, scf::ForOp loop, SetVector<Operation *> &inside) {
  if (inside.contains(op))
    return true;
  if (op->getBlock() != loop.getBody() || op->getNumRegions() != 0 || !isPure(op))
    return false;
  for (Value operand : op->getOperands()) {
    if (loop.isDefinedOutsideOfLoop(operand))
      continue;
    Operation *source = operand.getDefiningOp();
    if (!source || !isInvariant(source, loop, inside))
      return false;
  }
  inside.insert(op);
  return true;
}

/// Returns the number of leading indices of `slice` that do not change in the loop. Adds the ops that compute them to
/// `inside`.
static size_t invariantIndices(tile::SliceOp slice, scf::ForOp loop, SetVector<Operation *> &inside) {
  auto changes = [&](Value index) {
    Operation *source = index.getDefiningOp();
    return !loop.isDefinedOutsideOfLoop(index) && !(source && isInvariant(source, loop, inside));
  };
  auto indices = slice.getIndices();
  return std::distance(indices.begin(), llvm::find_if(indices, changes));
}

/// Fixes the dimensions whose indices do not change in the loop before the loop.
static void hoistSlice(tile::SliceOp slice, scf::ForOp loop) {
  SetVector<Operation *> inside;
  const size_t count = invariantIndices(slice, loop, inside);
  if (count == 0 || !loop.isDefinedOutsideOfLoop(slice.getView()))
    return;
  for (Operation *op : inside)
    op->moveBefore(loop);
  if (count == slice.getIndices().size())
    return slice->moveBefore(loop);
  auto view = slice.getView().getType();
  auto type = tile::ViewType::get(slice.getContext(), view.getRank() - count, view.getElementType());
  OpBuilder b(loop);
  Value outer = tile::SliceOp::create(b, slice.getLoc(), type, slice.getView(), slice.getIndices().take_front(count),
                                      slice.getAxis());
  slice.getViewMutable().assign(outer);
  slice.getIndicesMutable().erase(0, count);
}

/// Returns true if only gathers of one element read from `slice`. Programs with gathers of tiles wait for memory, not
/// for the arithmetic of addresses, and need the registers.
static bool isForSingleElements(tile::SliceOp slice) {
  return llvm::all_of(slice->getUsers(), [](Operation *user) {
    auto gather = dyn_cast<tile::GatherOp>(user);
    return gather && !isa<RankedTensorType>(gather.getType());
  });
}

static void hoistFrom(scf::ForOp loop) {
  for (auto slice : llvm::to_vector(loop.getBody()->getOps<tile::SliceOp>()))
    if (isForSingleElements(slice))
      hoistSlice(slice, loop);
  for (auto gather : llvm::to_vector(loop.getBody()->getOps<tile::GatherOp>())) {
    auto tile = dyn_cast<RankedTensorType>(gather.getType());
    SetVector<Operation *> inside;
    if ((!tile || tile.getNumElements() <= kMaxElements) && isInvariant(gather, loop, inside))
      for (Operation *op : inside)
        op->moveBefore(loop);
  }
}

namespace {
struct HoistGathers : simplify::impl::HoistGathersBase<HoistGathers> {
  void runOnOperation() override { getOperation()->walk(hoistFrom); } // Inner loops come first.
};
} // namespace
