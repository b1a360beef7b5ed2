// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/Passes.h"
#include "compiler/sm/Sm.h"

#include "mlir/Pass/Pass.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_PLACEFENCES
#include "compiler/cuda/shared/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

//===-- MMAs -----------------------------------------------------------------------------------------------------===//

/// Returns true if the MMA needs a fence of its own (PTX ISA, wgmma.fence). Accumulators in flight need none, and the
/// fence of an MMA before covers what was in registers then. ptxas wants another one after a branch, such as that of a
/// wait (C7519). The MMAs before have their fences.
static bool needsFence(sm::WgmmaOp op) {
  const bool hasAccumulators = op.getAcc() && !isa<sm::InflightType>(op.getAcc().getType());
  const bool hasLhs = !isa<sm::SharedType>(op.getLhs().getType());
  if (op.getAcc() && !hasAccumulators && !hasLhs)
    return false;
  auto writesOperand = [&](Operation *other) {
    return (hasAccumulators && op.getAcc().getDefiningOp() == other) ||
           (hasLhs && op.getLhs().getDefiningOp() == other);
  };
  for (Operation *other = op->getPrevNode(); other && !writesOperand(other); other = other->getPrevNode()) {
    auto mma = dyn_cast<sm::WgmmaOp>(other);
    if (mma && mma.getFenced())
      return false;
    if (!mma && !isPure(other))
      return true;
  }
  return true;
}

//===-- Loads by lanes -------------------------------------------------------------------------------------------===//

static bool isLoadedLater(Value tile, sm::ProducerLoadOp load) {
  auto wait = tile.getDefiningOp<sm::ConsumerWaitOp>();
  return wait && llvm::any_of(wait.getChannel().getUsers(), [&](Operation *user) {
           Operation *op = load->getBlock()->findAncestorOpInBlock(*user);
           return isa<sm::ProducerLoadOp>(user) && op && load->isBeforeInBlock(op);
         });
}

/// Returns true if an MMA reads the tile from shared memory and no fence of a tile that is loaded later covers it. An
/// MMA needs both operands, so the later tile's fence is enough for both.
static bool needsFence(sm::ProducerLoadOp load) {
  auto isLast = [&](Operation *user) {
    auto mma = dyn_cast<sm::AsyncProduct>(user);
    return mma && !isLoadedLater(mma.getLhs(), load) && !isLoadedLater(mma.getRhs(), load);
  };
  return llvm::any_of(load.getChannel().getUsers(), [&](Operation *user) {
    return isa<sm::ConsumerWaitOp>(user) && llvm::any_of(user->getUsers(), isLast);
  });
}

//===-- Buffers that TMA reads ------------------------------------------------------------------------------------===//

/// Lets TMA see what lanes have written to a buffer that it stores or adds.
static void fenceAfter(sm::WriteOp write) {
  if (sm::tmaReadersOf(write.getShared()).empty() || isa<sm::ProxyFenceOp>(write->getNextNode()))
    return;
  OpBuilder b(write->getContext());
  b.setInsertionPointAfter(write);
  sm::ProxyFenceOp::create(b, write.getLoc());
}

namespace {
struct PlaceFences : cuda::impl::PlaceFencesBase<PlaceFences> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (auto mma = dyn_cast<sm::WgmmaOp>(op))
        mma.setFenced(needsFence(mma));
      else if (auto load = dyn_cast<sm::ProducerLoadOp>(op))
        load.setFenced(needsFence(load));
      else if (auto write = dyn_cast<sm::WriteOp>(op))
        fenceAfter(write);
    });
  }
};
} // namespace
