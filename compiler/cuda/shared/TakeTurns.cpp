// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/Passes.h"
#include "compiler/sm/Sm.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/Pass.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_TAKETURNS
#include "compiler/cuda/shared/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

static void takeTurn(tile::AtomicAddOp add) {
  ImplicitLocOpBuilder b(add.getLoc(), add);
  sm::WaitMemoryTurnOp::create(b, add.getTurns(), add.getPlace(), add.getTurn(), /*known=*/Value());
  sm::BarrierOp::create(b);
  b.setInsertionPointAfter(add);
  sm::BarrierOp::create(b);
  sm::PassMemoryTurnOp::create(b, add.getTurns(), add.getPlace(), add.getNext());
  add.getTurnMutable().clear();
  add.getTurnsMutable().clear();
  add.getPlaceMutable().clear();
  add.getNextMutable().clear();
}

namespace {
struct TakeTurns : cuda::impl::TakeTurnsBase<TakeTurns> {
  void runOnOperation() override {
    getOperation()->walk([](tile::AtomicAddOp add) {
      if (add.getTurn())
        takeTurn(add);
    });
  }
};
} // namespace
