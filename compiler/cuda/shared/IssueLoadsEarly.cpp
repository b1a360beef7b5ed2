// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/Passes.h"

#include "compiler/sm/Slices.h"
#include "compiler/sm/Sm.h"

#include "mlir/Interfaces/LoopLikeInterface.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_ISSUELOADSEARLY
#include "compiler/cuda/shared/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

/// Moves the loads of a block that may move, and what they are computed from, to its start.
static void issueEarly(Block &iteration) {
  auto isMovable = [](Operation *op) { return op->getNumRegions() == 0 && isMemoryEffectFree(op); };
  SetVector<Operation *> early;
  for (auto load : iteration.getOps<tile::LoadOp>()) {
    const SetVector<Operation *> operands = sm::sliceOf(load->getOperands(), &iteration);
    if (!tile::isReadOnly(load.getView()) || !llvm::all_of(operands, isMovable))
      continue;
    early.insert_range(operands);
    early.insert(load);
  }
  for (Operation *op : llvm::reverse(early))
    if (op != &iteration.front())
      op->moveBefore(&iteration.front());
}

namespace {
struct IssueLoadsEarly : cuda::impl::IssueLoadsEarlyBase<IssueLoadsEarly> {
  void runOnOperation() override {
    getOperation()->walk([](LoopLikeOpInterface loop) {
      for (Region *region : loop.getLoopRegions())
        issueEarly(region->front());
    });
  }
};
} // namespace
