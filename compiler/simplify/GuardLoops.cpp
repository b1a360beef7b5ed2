// SPDX-License-Identifier: MIT
#include "compiler/simplify/Constants.h"
#include "compiler/simplify/Passes.h"
#include "compiler/tile/IntegerRanges.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tegula::simplify {
#define GEN_PASS_DEF_GUARDLOOPS
#include "compiler/simplify/Passes.h.inc"
} // namespace tegula::simplify

using namespace mlir;
using namespace tegula;
using namespace tegula::simplify;

/// Returns the limit of the positions of loops that run as they are: a quarter of the numbers of the type on either
/// side of 0. Later passes look ahead by several steps, and subtract the bounds from each other.
static APInt limitOf(unsigned width) { return APInt::getOneBitSet(width, width - 2); }

/// Returns true if no position, nor one that is several steps further, wraps around.
static bool staysInRange(scf::ForOp loop, tile::IntegerRanges &ranges) {
  const unsigned width = tile::integerWidth(loop.getStep().getType());
  const APInt limit = limitOf(width), longest = APInt::getOneBitSet(width, width / 2);
  auto isNear = [&](Value bound) {
    const ConstantIntRanges range = ranges.of(bound);
    return range.smin().sge(-limit) && range.smax().sle(limit);
  };
  return isNear(loop.getLowerBound()) && isNear(loop.getUpperBound()) && ranges.of(loop.getStep()).smax().sle(longest);
}

/// Ends the loop where it begins if the step is 0 or negative.
static void makeStepPositive(scf::ForOp loop) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  Value step = loop.getStep();
  Value one = integerConstant(b, step.getType(), APInt(tile::integerWidth(step.getType()), 1));
  Value isPositive = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, step, one);
  loop.setUpperBound(arith::SelectOp::create(b, isPositive, loop.getUpperBound(), loop.getLowerBound()));
  loop.setStep(arith::MaxSIOp::create(b, step, one));
}

/// Lets the loop count its iterations. It computes each position from the number of the iteration. The distance of the
/// bounds may need all bits of an unsigned number. No loop runs long enough to reach the limit of the count.
static void countIterations(scf::ForOp loop) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound(), step = loop.getStep();
  const unsigned width = tile::integerWidth(step.getType());
  auto constant = [&](const APInt &value) { return integerConstant(b, step.getType(), value); };
  Value zero = constant(APInt::getZero(width)), one = constant(APInt(width, 1)), most = constant(limitOf(width));
  Value runs = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, lower, upper);
  Value distance = arith::SubIOp::create(b, arith::SubIOp::create(b, upper, lower), one);
  Value count = arith::AddIOp::create(b, arith::DivUIOp::create(b, distance, step), one);
  count = arith::SelectOp::create(b, runs, arith::MinUIOp::create(b, count, most), zero);
  loop.setLowerBound(zero);
  loop.setUpperBound(count);
  loop.setStep(one);
  b.setInsertionPointToStart(loop.getBody());
  Value number = loop.getInductionVar();
  auto distanceToHere = arith::MulIOp::create(b, number, step);
  Value position = arith::AddIOp::create(b, lower, distanceToHere);
  number.replaceAllUsesExcept(position, distanceToHere);
}

static void guard(scf::ForOp loop, tile::IntegerRanges &ranges) {
  const bool counts = !staysInRange(loop, ranges);
  if (!ranges.of(loop.getStep()).smin().isStrictlyPositive())
    makeStepPositive(loop);
  if (counts)
    countIterations(loop);
}

namespace {
struct GuardLoops : simplify::impl::GuardLoopsBase<GuardLoops> {
  void runOnOperation() override {
    tile::IntegerRanges ranges; // Positions of inner loops depend on those of outer ones, which are guarded first.
    getOperation()->walk<WalkOrder::PreOrder>([&](scf::ForOp loop) { guard(loop, ranges); });
  }
};
} // namespace
