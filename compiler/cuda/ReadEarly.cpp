// SPDX-License-Identifier: MIT
#include "compiler/cuda/Passes.h"

#include "compiler/sm/Sm.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/RegionUtils.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_READEARLY
#include "compiler/cuda/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

/// The branch that reads the tile into registers; null if something else reads it.
static scf::IfOp readerOf(sm::ReceiveOp receive) {
  auto read = receive->hasOneUse() ? dyn_cast<sm::ReadOp>(*receive->user_begin()) : sm::ReadOp();
  auto branch = read ? dyn_cast<scf::IfOp>(read->getParentOp()) : scf::IfOp();
  return branch && branch->getBlock() == receive->getBlock() ? branch : scf::IfOp();
}

/// The wait between which and `op` no loop lies.
static sm::WgmmaWaitOp waitBefore(Operation *op) {
  while ((op = op->getPrevNode()) && !isa<LoopLikeOpInterface>(op))
    if (auto wait = dyn_cast<sm::WgmmaWaitOp>(op))
      return wait;
  return {};
}

/// The next one that leaves no product in flight.
static sm::WgmmaWaitOp lastWaitAfter(Operation *op) {
  while ((op = op->getNextNode()))
    if (auto wait = dyn_cast<sm::WgmmaWaitOp>(op); wait && wait.getPending() == 0)
      return wait;
  return {};
}

/// That of the slot, or of another one with which it comes back: the first behind a fence of the block.
static sm::ReleaseOp releaseAfter(scf::IfOp branch) {
  for (Operation *op = branch->getNextNode(); op; op = op->getNextNode())
    if (isa<sm::ProxyFenceOp>(op))
      return dyn_cast<sm::ReleaseOp>(op->getNextNode());
  return {};
}

/// Behind `wait` and what that frees.
static void moveBehind(sm::WgmmaWaitOp wait, sm::ReleaseOp release) {
  Operation *fence = release->getPrevNode(), *place = wait;
  while (isa<sm::ReleaseOp>(place->getNextNode()))
    place = place->getNextNode();
  release->moveAfter(place);
  fence->moveAfter(place);
}

namespace {
struct ReadEarly : cuda::impl::ReadEarlyBase<ReadEarly> {
  void runOnOperation() override {
    SmallVector<sm::ReceiveOp> receives;
    getOperation()->walk([&](sm::ReceiveOp receive) { receives.push_back(receive); });
    IRRewriter rewriter(&getContext());
    for (sm::ReceiveOp receive : receives) {
      scf::IfOp branch = readerOf(receive);
      if (!branch)
        continue;
      if (sm::WgmmaWaitOp wait = waitBefore(branch);
          wait && succeeded(moveOperationDependencies(rewriter, branch, wait)))
        branch->moveBefore(wait);
      sm::WgmmaWaitOp wait = lastWaitAfter(branch);
      sm::ReleaseOp release = releaseAfter(branch);
      if (wait && release && release->isBeforeInBlock(wait))
        moveBehind(wait, release);
    }
  }
};
} // namespace
