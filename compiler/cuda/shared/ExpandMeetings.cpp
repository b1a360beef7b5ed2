// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/Passes.h"
#include "compiler/sm/Sm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_EXPANDMEETINGS
#include "compiler/cuda/shared/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

using LocBuilder = ImplicitLocOpBuilder;

static void takeTurn(tile::AtomicAddOp add) {
  LocBuilder b(add.getLoc(), add);
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

/// Creates an op of one thread between two barriers. Returns the word that this thread writes for all.
template <class Op> static Value betweenBarriers(LocBuilder &b, ValueRange operands) {
  sm::BarrierOp::create(b);
  Op::create(b, TypeRange(), operands);
  sm::BarrierOp::create(b);
  return sm::ReadWordOp::create(b, b.getI32Type());
}

static void draw(tile::NextWorkOp work) {
  LocBuilder b(work.getLoc(), work);
  work.replaceAllUsesWith(betweenBarriers<sm::DrawWorkOp>(b, work->getOperands()));
  work.erase();
}

static void arrive(tile::ArriveOp arrival) {
  LocBuilder b(arrival.getLoc(), arrival);
  Value word = betweenBarriers<sm::ArriveOp>(b, arrival->getOperands());
  Value zero = arith::ConstantIntOp::create(b, b.getI32Type(), 0);
  arrival.replaceAllUsesWith(arith::CmpIOp::create(b, arith::CmpIPredicate::ne, word, zero).getResult());
  arrival.erase();
}

namespace {
struct ExpandMeetings : cuda::impl::ExpandMeetingsBase<ExpandMeetings> {
  void runOnOperation() override {
    getOperation()->walk([](tile::AtomicAddOp add) {
      if (add.getTurn())
        takeTurn(add);
    });
    getOperation()->walk(draw);
    getOperation()->walk(arrive);
  }
};
} // namespace
