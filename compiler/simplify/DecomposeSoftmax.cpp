// SPDX-License-Identifier: MIT
#include "compiler/simplify/Constants.h"
#include "compiler/simplify/Passes.h"
#include "compiler/simplify/ScaledScores.h"
#include "compiler/simplify/Softmax.h"
#include "compiler/sm/Elements.h"
#include "compiler/sm/Sm.h"
#include "compiler/tile/Settings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tegula::simplify {
#define GEN_PASS_DEF_DECOMPOSESOFTMAX
#include "compiler/simplify/Passes.h.inc"
} // namespace tegula::simplify

using namespace mlir;
using namespace tegula;
using namespace tegula::simplify;

using LocBuilder = ImplicitLocOpBuilder;

//===-- Operations -----------------------------------------------------------------------------------------------===//

/// Emits the update of FlashAttention-2 as published.
static SoftmaxState update(LocBuilder &b, tile::SoftmaxUpdateOp op) {
  Value s = op.getScores(), m = op.getMax();
  Type rows = m.getType();
  Value newMax = arith::MaxNumFOp::create(b, m, reduceRows(b, tile::Reduction::Max, s, rows));
  Value origin = subtractedMax(b, newMax);
  Value p = math::Exp2Op::create(b, relativeExponent(b, s, acrossColumns(b, origin, s.getType())));
  Value alpha = math::Exp2Op::create(b, relativeExponent(b, m, origin));
  Value newSum = math::FmaOp::create(b, op.getSum(), alpha, reduceRows(b, tile::Reduction::Add, p, rows));
  Value o = op.getOutput();
  Value rescaled = arith::MulFOp::create(b, o, acrossColumns(b, alpha, o.getType()));
  return {newMax, newSum, addProduct(b, op, keptProbabilities(b, op, p), rescaled)};
}

/// Returns the largest element of each row, compared as integers, of which sm_90 compares three in one instruction. It
/// is the row's maximum if the maximum is positive, otherwise some element of the row.
static Value largestAsIntegers(LocBuilder &b, Value s, Type rows) {
  auto ofBits = [&](Type type) { return cast<RankedTensorType>(type).clone(b.getI32Type()); };
  Value bits = arith::BitcastOp::create(b, ofBits(s.getType()), s);
  return arith::BitcastOp::create(b, rows, reduceRows(b, tile::Reduction::Max, bits, ofBits(rows)));
}

/// Returns true if all scores of a row may be negative, as they may after a bias has been added.
static bool mayBeNegative(Value scores) {
  Operation *op = scores.getDefiningOp();
  if (auto mask = dyn_cast_if_present<arith::SelectOp>(op))
    return mayBeNegative(mask.getTrueValue());
  if (auto branch = dyn_cast_if_present<scf::IfOp>(op))
    return mayBeNegative(branch.thenYield().getOperand(cast<OpResult>(scores).getResultNumber()));
  return isa_and_present<arith::AddFOp, arith::SubFOp, math::FmaOp>(op);
}

/// Returns the maxima of the rows, whose largest elements as integers are `largest`. Compares the scores as floats only
/// if some of these are not positive.
static Value maximaOf(LocBuilder &b, Value s, Value largest) {
  Type rows = largest.getType();
  Value zero = floatConstant(b, rows, 0);
  Value any = tile::AnyOp::create(b, arith::CmpFOp::create(b, arith::CmpFPredicate::ULE, largest, zero));
  auto asFloats = [&](LocBuilder &b) -> SmallVector<Value> { return {reduceRows(b, tile::Reduction::Max, s, rows)}; };
  return rareBranch(b, any, asFloats, [&](LocBuilder &) -> SmallVector<Value> { return {largest}; })[0];
}

/// Returns true if exponents may be fused. f16 needs warp specialization for it: warps that load their own tiles have
/// too few registers for both kinds of exponents.
static bool mayFuse(tile::SoftmaxUpdateOp op) {
  return sm::hidesRounding(getElementTypeOrSelf(op.getValues())) || tile::wantsRoles(op);
}

namespace {
/// The updated state of the rows, and the scores relative to what fused exponents subtract.
struct RaisedRows : Rows {
  RelativeScores scores;
};
} // namespace

/// Gives each row with a score above `limit` a new maximum. The largest as integers suffice to show that there is no
/// such row, unless the limit is negative. If scores are not negative, it hardly ever is. If exponents are fused, and
/// the maximum of some row is too far from 0 for it, returns the scores as differences.
static RaisedRows raised(LocBuilder &b, ScaledScores s, Value limit, tile::SoftmaxUpdateOp op) {
  Value oldMax = op.getMax(), oldSum = op.getSum();
  Type rows = oldMax.getType();
  const bool asIntegers = !mayBeNegative(s.tile);
  Value largest = asIntegers ? largestAsIntegers(b, s.tile, rows) : reduceRows(b, tile::Reduction::Max, s.tile, rows);
  Value mayExceed = isAbove(b, scaled(b, largest, s.scale), limit);
  if (asIntegers)
    mayExceed = arith::OrIOp::create(b, mayExceed, isAbove(b, floatConstant(b, rows, 0), limit));
  if (mayFuse(op))
    mayExceed = arith::OrIOp::create(b, mayExceed, exceedsFusedRange(b, op, oldMax));
  auto raise = [&](LocBuilder &b) -> SmallVector<Value> {
    Value blockMax = scaled(b, asIntegers ? maximaOf(b, s.tile, largest) : largest, s.scale);
    auto [m, l, alpha, any] = updateMax(b, op, blockMax, limit);
    Value subtracted = subtractedMax(b, m);
    auto [tile, origin] = mayFuse(op) ? withinFusedRange(b, op, s, subtracted) : RelativeScores{s.tile, subtracted};
    return {m, l, alpha, any, tile, origin};
  };
  Value one = floatConstant(b, rows, 1), none = arith::ConstantIntOp::create(b, b.getI1Type(), 0);
  auto keep = [&](LocBuilder &) -> SmallVector<Value> { return {oldMax, oldSum, one, none, s.tile, oldMax}; };
  ResultRange values = rareBranch(b, tile::AnyOp::create(b, mayExceed), raise, keep);
  return {{values[0], values[1], values[2], values[3]}, {values[4], values[5]}};
}

/// Emits the update for tensor cores. Rows are rescaled only if their maximum has grown by 2^8. After the first block
/// of keys, few have, and probabilities up to 2^8 are as exact as probabilities up to 1.
static SoftmaxState roundedUpdate(LocBuilder &b, tile::SoftmaxUpdateOp op) {
  Type rows = op.getMax().getType();
  ScaledScores s = mayFuse(op) ? withoutScale(op.getScores(), /*andAdded=*/false) : ScaledScores{op.getScores()};
  Value limit = arith::AddFOp::create(b, op.getMax(), floatConstant(b, rows, kRescaleThresholdLog2 * ln2));
  RaisedRows now = raised(b, s, limit, op);
  Value exponents = mayFuse(op) ? fusedExponents(b, {now.scores.tile, s.scale}, now.scores.origin)
                                : exactExponents(b, s, subtractedMax(b, now.m));
  Value p = math::Exp2Op::create(b, exponents);
  Value newSum = arith::AddFOp::create(b, now.l, reduceRows(b, tile::Reduction::Add, p, rows));
  return {now.m, newSum, accumulate(b, op, p, now.any, now.alpha)};
}

static bool isOptimistic(Operation *op) { return tile::scheduleOf(op).optimistic_softmax == true; }

static SoftmaxState decomposed(LocBuilder &b, tile::SoftmaxUpdateOp op, bool roundProbabilities) {
  if (!roundProbabilities || getElementTypeOrSelf(op.getValues()).isF32()) {
    if (isOptimistic(op))
      op.emitRemark("optimistic_softmax has no effect: P is not cast to 16 bits; each row maximum is found before its "
                    "exponentials");
    return update(b, op);
  }
  if (isOptimistic(op)) {
    if (std::optional<SoftmaxState> state = optimisticUpdate(b, op))
      return *state;
    op.emitRemark("optimistic_softmax has no effect: the scores cannot be computed again from read-only tensors; each "
                  "row maximum is found before its exponentials");
  }
  return roundedUpdate(b, op);
}

static void decomposeUpdate(tile::SoftmaxUpdateOp op, bool roundProbabilities) {
  LocBuilder b(op.getLoc(), op);
  auto [m, l, o] = decomposed(b, op, roundProbabilities);
  op.replaceAllUsesWith(ValueRange{m, l, o});
  op.erase();
}

static void decomposeOutput(tile::SoftmaxOutputOp op) {
  LocBuilder b(op.getLoc(), op);
  Value l = op.getSum(), o = op.getOutput();
  Value quotient = arith::DivFOp::create(b, floatConstant(b, l.getType(), 1), l);
  Value inverse = selectWhere(b, l, 0, 0, quotient);
  op.replaceAllUsesWith(Value(arith::MulFOp::create(b, o, acrossColumns(b, inverse, o.getType()))));
  op.erase();
}

static void decomposeLse(tile::SoftmaxLseOp op) {
  LocBuilder b(op.getLoc(), op);
  Value m = op.getMax(), l = op.getSum();
  Value lse = math::FmaOp::create(b, math::Log2Op::create(b, l), floatConstant(b, l.getType(), ln2), m);
  op.replaceAllUsesWith(selectWhere(b, l, 0, -infinity, lse));
  op.erase();
}

namespace {
struct DecomposeSoftmax : simplify::impl::DecomposeSoftmaxBase<DecomposeSoftmax> {
  using Base = simplify::impl::DecomposeSoftmaxBase<DecomposeSoftmax>;
  using Base::Base;

  void runOnOperation() override {
    getOperation()->walk([&](Operation *op) {
      TypeSwitch<Operation *>(op)
          .Case([&](tile::SoftmaxUpdateOp update) { decomposeUpdate(update, roundProbabilities); })
          .Case([&](tile::SoftmaxOutputOp output) { decomposeOutput(output); })
          .Case<tile::SoftmaxLseOp>(decomposeLse);
    });
  }
};
} // namespace
