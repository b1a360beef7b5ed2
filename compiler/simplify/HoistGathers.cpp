// SPDX-License-Identifier: MIT
#include "compiler/simplify/Passes.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"

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

static void hoistFrom(scf::ForOp loop) {
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
