// SPDX-License-Identifier: MIT
#include "compiler/sm/Multiples.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

/// The largest power of two that is told apart. Integers of 32 bits may wrap, which keeps these factors.
static constexpr unsigned kMost = 16;

/// Returns the number of times that 2 is known to divide `value`.
static unsigned knownTwos(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return std::min(constant.isZero() ? kMost : constant.countr_zero(), kMost);
  auto leastOf = [](std::initializer_list<Value> values) {
    unsigned least = kMost;
    for (Value value : values)
      least = std::min(least, knownTwos(value));
    return least;
  };
  if (auto loop = scf::getForInductionVarOwner(value))
    return leastOf({loop.getLowerBound(), loop.getStep()});
  Operation *op = value.getDefiningOp();
  if (!op)
    return 0;
  return TypeSwitch<Operation *, unsigned>(op)
      .Case([&](arith::MulIOp product) {
        return std::min(knownTwos(product.getLhs()) + knownTwos(product.getRhs()), kMost);
      })
      .Case<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp>(
          [&](auto sum) { return leastOf({sum.getLhs(), sum.getRhs()}); })
      .Case([&](arith::SelectOp select) { return leastOf({select.getTrueValue(), select.getFalseValue()}); })
      .Case<arith::IndexCastOp, arith::ExtSIOp>([&](auto cast) { return knownTwos(cast.getIn()); })
      .Default(0u);
}

bool tegula::sm::isMultipleOf(Value index, int64_t divisor) { return (int64_t{1} << knownTwos(index)) >= divisor; }
