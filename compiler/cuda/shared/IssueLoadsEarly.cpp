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

/// Moves ops to the start of a block, in the order of the calls.
namespace {
class BlockStart {
public:
  explicit BlockStart(Block &block) : block_(block) {}

  void move(Operation *op) {
    if (!moved_.insert(op))
      return;
    if (moved_.size() > 1)
      op->moveAfter(moved_[moved_.size() - 2]);
    else if (op != &block_.front())
      op->moveBefore(&block_.front());
  }

private:
  Block &block_;
  SetVector<Operation *> moved_;
};
} // namespace

static void issueEarly(Block &iteration) {
  BlockStart start(iteration);
  for (tile::LoadOp load : llvm::make_early_inc_range(iteration.getOps<tile::LoadOp>())) {
    FailureOr<SetVector<Operation *>> operands = movableOperands(load);
    if (!tile::isReadOnly(load.getView()) || failed(operands))
      continue;
    for (Operation *op : *operands)
      start.move(op);
    start.move(load);
  }
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
