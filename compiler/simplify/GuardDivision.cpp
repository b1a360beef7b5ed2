// SPDX-License-Identifier: MIT
#include "compiler/simplify/Constants.h"
#include "compiler/simplify/Passes.h"
#include "compiler/tile/IntegerRanges.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

namespace tegula::simplify {
#define GEN_PASS_DEF_GUARDDIVISION
#include "compiler/simplify/Passes.h.inc"
} // namespace tegula::simplify

using namespace mlir;
using namespace tegula;
using namespace tegula::simplify;

static bool isSignedDivision(Operation *op) {
  return isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(op);
}

static bool isDivision(Operation *op) {
  return isSignedDivision(op) || isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op);
}

/// Returns true if the divisor is a constant that is nowhere 0 or -1. Unsigned divisors may also be numbers that are
/// known not to be 0, as where `guard-loops` counts iterations.
static bool hasSafeDivisor(Operation *division, tile::IntegerRanges &ranges) {
  if (!isSignedDivision(division) && !ranges.of(division->getOperand(1)).umin().isZero())
    return true;
  auto safe = [](const APInt &value) { return !value.isZero() && !value.isAllOnes(); };
  Attribute constant;
  if (!matchPattern(division->getOperand(1), m_Constant(&constant)))
    return false;
  if (auto tile = dyn_cast<DenseIntElementsAttr>(constant))
    return llvm::all_of(tile.getValues<APInt>(), safe);
  auto scalar = dyn_cast<IntegerAttr>(constant);
  return scalar && safe(scalar.getValue());
}

static Value equals(ImplicitLocOpBuilder &b, Value x, const APInt &value) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, integerConstant(b, x.getType(), value));
}

/// Emits the test for the smallest integer divided by -1, whose quotient does not fit.
static Value overflows(ImplicitLocOpBuilder &b, Value dividend, Value divisor, unsigned width) {
  Value smallest = equals(b, dividend, APInt::getSignedMinValue(width));
  Value minusOne = equals(b, divisor, APInt::getAllOnes(width));
  return arith::AndIOp::create(b, smallest, minusOne);
}

static void guard(Operation *division) {
  ImplicitLocOpBuilder b(division->getLoc(), division);
  Value dividend = division->getOperand(0), divisor = division->getOperand(1);
  Type type = divisor.getType();
  unsigned width = tile::integerWidth(type);

  Value byZero = equals(b, divisor, APInt::getZero(width)), unsafe = byZero;
  if (isSignedDivision(division))
    unsafe = arith::OrIOp::create(b, unsafe, overflows(b, dividend, divisor, width));
  division->setOperand(1, arith::SelectOp::create(b, unsafe, integerConstant(b, type, APInt(width, 1)), divisor));

  b.setInsertionPointAfter(division);
  Value result = division->getResult(0);
  auto guarded = arith::SelectOp::create(b, byZero, integerConstant(b, type, APInt::getZero(width)), result);
  result.replaceAllUsesExcept(guarded, guarded);
}

namespace {
struct GuardDivision : simplify::impl::GuardDivisionBase<GuardDivision> {
  void runOnOperation() override {
    tile::IntegerRanges ranges;
    getOperation()->walk([&](Operation *op) {
      if (isDivision(op) && !hasSafeDivisor(op, ranges))
        guard(op);
    });
  }
};
} // namespace
