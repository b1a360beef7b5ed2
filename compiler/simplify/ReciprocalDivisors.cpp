// SPDX-License-Identifier: MIT
#include "compiler/simplify/Constants.h"
#include "compiler/simplify/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tegula::simplify {
#define GEN_PASS_DEF_RECIPROCALDIVISORS
#include "compiler/simplify/Passes.h.inc"
} // namespace tegula::simplify

using namespace mlir;
using namespace tegula;
using namespace tegula::simplify;

namespace {
/// A builder of 32-bit arithmetic on values that may be unsigned. Each call creates at most one of its operands. C++
/// compilers evaluate arguments in different orders, and the program must not depend on the order.
struct Words {
  ImplicitLocOpBuilder b;

  Value constant(int64_t x) { return integerConstant(b, b.getI32Type(), APInt(32, x, /*isSigned=*/true)); }
  Value negated(Value x) { return arith::SubIOp::create(b, constant(0), x); }
  Value magnitude(Value x) { return arith::MaxSIOp::create(b, x, negated(x)); }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) { return arith::CmpIOp::create(b, predicate, x, y); }
  Value isNegative(Value x) { return compare(arith::CmpIPredicate::slt, x, constant(0)); }
  Value select(Value condition, Value x, Value y) { return arith::SelectOp::create(b, condition, x, y); }
  Value negatedIf(Value condition, Value x) { return select(condition, negated(x), x); }
  /// Returns the upper half of the 64-bit product of unsigned numbers.
  Value highProduct(Value x, Value y) {
    Type wide = b.getI64Type();
    Value wideX = arith::ExtUIOp::create(b, wide, x), wideY = arith::ExtUIOp::create(b, wide, y);
    Value product = arith::MulIOp::create(b, wideX, wideY), half = integerConstant(b, wide, APInt(64, 32));
    Value high = arith::ShRUIOp::create(b, product, half);
    return arith::TruncIOp::create(b, x.getType(), high);
  }
};

/// A divisor with its reciprocal, floor((2^32 - 1) / magnitude). A divisor of 0 counts as 1.
struct Divisor {
  Value isZero, magnitude, reciprocal;
};
} // namespace

static Divisor invert(Words w, Value divisor) {
  Value isZero = w.compare(arith::CmpIPredicate::eq, divisor, w.constant(0));
  Value magnitude = w.magnitude(divisor), one = w.constant(1), most = w.constant(-1);
  magnitude = w.select(isZero, one, magnitude);
  return {isZero, magnitude, arith::DivUIOp::create(w.b, most, magnitude)};
}

/// Divides by a multiplication. The reciprocal is at least 2^32 / magnitude - 1, and the dividend's magnitude is at
/// most 2^31. The first quotient is therefore right or too small by 1.
static Value divide(Words w, Operation *division, const Divisor &by) {
  Value x = division->getOperand(0), divisor = division->getOperand(1), magnitude = w.magnitude(x);
  Value quotient = w.highProduct(magnitude, by.reciprocal);
  Value covered = arith::MulIOp::create(w.b, quotient, by.magnitude);
  Value rest = arith::SubIOp::create(w.b, magnitude, covered);
  Value isSmall = w.compare(arith::CmpIPredicate::uge, rest, by.magnitude);
  if (isa<arith::RemSIOp>(division)) {
    Value smaller = arith::SubIOp::create(w.b, rest, by.magnitude);
    rest = w.select(isSmall, smaller, rest);
    Value isNegative = w.isNegative(x);
    return w.negatedIf(isNegative, rest);
  }
  Value one = arith::ExtUIOp::create(w.b, quotient.getType(), isSmall);
  quotient = arith::AddIOp::create(w.b, quotient, one);
  Value isNegative = w.isNegative(arith::XOrIOp::create(w.b, x, divisor)), zero = w.constant(0);
  quotient = w.negatedIf(isNegative, quotient);
  return w.select(by.isZero, zero, quotient);
}

/// Returns true if the value is known before the loop. Moves the ops that it is computed from before the loop.
static bool hoist(Value value, LoopLikeOpInterface loop) {
  if (loop.isDefinedOutsideOfLoop(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || !isPure(op) || op->getNumRegions() != 0 || !value.getType().isIntOrIndex() ||
      !llvm::all_of(op->getOperands(), [&](Value operand) { return hoist(operand, loop); }))
    return false;
  op->moveBefore(loop);
  return true;
}

static bool isConstant(Value value) { return matchPattern(value, m_Constant()); }

static void replaceDivision(Operation *division, LoopLikeOpInterface loop) {
  Value divisor = division->getOperand(1);
  if (isConstant(divisor) || !hoist(divisor, loop))
    return;
  const bool isInvariant = hoist(division->getOperand(0), loop);
  ImplicitLocOpBuilder before(division->getLoc(), loop), inside(division->getLoc(), division);
  const Divisor by = invert({before}, divisor);
  division->getResult(0).replaceAllUsesWith(divide({isInvariant ? before : inside}, division, by));
  division->erase();
}

namespace {
struct ReciprocalDivisors : simplify::impl::ReciprocalDivisorsBase<ReciprocalDivisors> {
  void runOnOperation() override {
    getOperation()->walk<WalkOrder::PreOrder>([](LoopLikeOpInterface loop) {
      SmallVector<Operation *> divisions; // A divisor may be the quotient of an earlier division.
      loop.walk<WalkOrder::PreOrder>([&](Operation *op) {
        if (isa<arith::DivSIOp, arith::RemSIOp>(op) && op->getResult(0).getType().isInteger(32))
          divisions.push_back(op);
      });
      for (Operation *division : divisions)
        replaceDivision(division, loop);
    });
  }
};
} // namespace
