// SPDX-License-Identifier: MIT
#include "compiler/sm/PendingGroups.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace tegula::sm;

static bool startsGroup(Operation *op) {
  auto async = dyn_cast<AsyncOpInterface>(op);
  return async && async.getEngine() == Engine::tensorCores;
}

/// Returns the least number of groups that `op` starts. A loop may have no iteration.
static int64_t groupsIn(Operation *op) {
  if (startsGroup(op))
    return 1;
  auto branch = dyn_cast<scf::IfOp>(op);
  if (!branch || !branch.elseBlock())
    return 0;
  auto inBlock = [](Block *block) {
    int64_t groups = 0;
    for (Operation &inside : *block)
      groups += groupsIn(&inside);
    return groups;
  };
  return std::min(inBlock(branch.thenBlock()), inBlock(branch.elseBlock()));
}

namespace {
/// A walk from an await back to the op that starts its MMA, along all paths.
class BackwardPaths {
public:
  /// Returns the least number of groups that start after `handle` was started and before `op`.
  int64_t groupsBefore(Operation *op, Value handle) {
    int64_t groups = 0;
    for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode()) {
      if (handle.getDefiningOp() == before)
        return groups + (before->getNumRegions() ? groupsInside(cast<OpResult>(handle)) : 0);
      groups += groupsIn(before);
    }
    Operation *parent = op->getParentOp();
    if (isa<scf::IfOp>(parent))
      return groups + groupsBefore(parent, handle);
    auto loop = dyn_cast<LoopLikeOpInterface>(parent);
    auto carried = dyn_cast<BlockArgument>(handle);
    return loop && carried && carried.getOwner() == op->getBlock() ? groups + groupsOfCarried(loop, carried) : 0;
  }

private:
  static constexpr int64_t kNoPath = std::numeric_limits<int32_t>::max();

  int64_t groupsOfCarried(LoopLikeOpInterface loop, BlockArgument carried) {
    if (!open_.insert(carried).second)
      return kNoPath; // Around the loop without a start.
    Value init = loop.getTiedLoopInit(carried)->get();
    OpOperand *yielded = loop.getTiedLoopYieldedValue(carried);
    const int64_t least = std::min(groupsBefore(loop, init), groupsBefore(yielded->getOwner(), yielded->get()));
    open_.erase(carried);
    return least;
  }

  /// Returns the least number of groups that start in an op with regions after the handle that it returns.
  int64_t groupsInside(OpResult handle) {
    if (auto branch = dyn_cast<scf::IfOp>(handle.getOwner())) {
      auto inBranch = [&](scf::YieldOp yield) {
        return groupsBefore(yield, yield.getOperand(handle.getResultNumber()));
      };
      return std::min(inBranch(branch.thenYield()), inBranch(branch.elseYield()));
    }
    auto loop = dyn_cast<LoopLikeOpInterface>(handle.getOwner());
    BlockArgument carried = loop ? loop.getTiedLoopRegionIterArg(handle) : BlockArgument();
    return carried ? groupsOfCarried(loop, carried) : 0;
  }

  llvm::SmallPtrSet<Value, 4> open_; ///< The carried handles whose paths are being followed.
};
} // namespace

int64_t tegula::sm::pendingGroups(AwaitOp await) { return BackwardPaths().groupsBefore(await, await.getHandle()); }
