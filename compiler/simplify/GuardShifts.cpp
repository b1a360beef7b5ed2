// SPDX-License-Identifier: MIT
#include "compiler/simplify/Constants.h"
#include "compiler/simplify/Passes.h"
#include "compiler/tile/IntegerRanges.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tegula::simplify {
#define GEN_PASS_DEF_GUARDSHIFTS
#include "compiler/simplify/Passes.h.inc"
} // namespace tegula::simplify

using namespace mlir;
using namespace tegula;
using namespace tegula::simplify;

/// Lets a shift by more than all bits shift by all bits but the last, which gives the sign everywhere.
static void limitCount(Operation *shift, unsigned width) {
  ImplicitLocOpBuilder b(shift->getLoc(), shift);
  Value count = shift->getOperand(1), most = integerConstant(b, count.getType(), APInt(width, width - 1));
  shift->setOperand(1, arith::MinUIOp::create(b, count, most));
}

/// Replaces the result of a shift by all bits or more by 0.
static void replaceResult(Operation *shift, unsigned width) {
  ImplicitLocOpBuilder b(shift->getLoc(), shift);
  Value result = shift->getResult(0), count = shift->getOperand(1);
  Value end = integerConstant(b, count.getType(), APInt(width, width));
  Value zero = integerConstant(b, count.getType(), APInt::getZero(width));
  Value isWithin = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, count, end);
  b.setInsertionPointAfter(shift);
  auto guarded = arith::SelectOp::create(b, isWithin, result, zero);
  result.replaceAllUsesExcept(guarded, guarded);
}

/// Returns true if replaceResult() has guarded the shift.
static bool hasGuardedResult(Operation *shift) {
  Value result = shift->getResult(0);
  auto select = result.hasOneUse() ? dyn_cast<arith::SelectOp>(*result.user_begin()) : arith::SelectOp();
  auto compare = select ? select.getCondition().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
  return compare && compare.getPredicate() == arith::CmpIPredicate::ult && compare.getLhs() == shift->getOperand(1);
}

namespace {
struct GuardShifts : simplify::impl::GuardShiftsBase<GuardShifts> {
  void runOnOperation() override {
    tile::IntegerRanges ranges;
    getOperation()->walk([&](Operation *op) {
      if (!isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op))
        return;
      const unsigned width = tile::integerWidth(op->getResult(0).getType());
      if (ranges.of(op->getOperand(1)).umax().ult(width))
        return;
      if (isa<arith::ShRSIOp>(op))
        limitCount(op, width);
      else if (!hasGuardedResult(op))
        replaceResult(op, width);
    });
  }
};
} // namespace
