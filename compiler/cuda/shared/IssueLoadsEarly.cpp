// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/Passes.h"

#include "compiler/sm/Sm.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_ISSUELOADSEARLY
#include "compiler/cuda/shared/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

/// Returns the ops of `load`'s block that it is computed from, operands first. Fails if one of them cannot move to the
/// start of the block.
static FailureOr<SetVector<Operation *>> movableOperands(tile::LoadOp load) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) { return op->getBlock() == load->getBlock(); };
  bool found = succeeded(getBackwardSlice(load.getOperation(), &slice, options));
  auto movable = [](Operation *op) { return op->getNumRegions() == 0 && isMemoryEffectFree(op); };
  if (!found || !llvm::all_of(slice, movable))
    return failure();
  return slice;
}

/// Moves the loads of a block, and what they are computed from, to its start.
static void issueEarly(Block &iteration) {
  SetVector<Operation *> early;
  for (auto load : iteration.getOps<tile::LoadOp>()) {
    FailureOr<SetVector<Operation *>> operands = movableOperands(load);
    if (!tile::isReadOnly(load.getView()) || failed(operands))
      continue;
    early.insert_range(*operands);
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
