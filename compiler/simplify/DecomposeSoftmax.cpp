// SPDX-License-Identifier: MIT
#include "compiler/simplify/Constants.h"
#include "compiler/simplify/Passes.h"
#include "compiler/simplify/ScaledScores.h"
#include "compiler/simplify/Softmax.h"
#include "compiler/sm/Sm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tegula::simplify {
#define GEN_PASS_DECL_DECOMPOSESOFTMAX
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
  return {newMax, newSum, addProduct(b, op, p, rescaled)};
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
  auto branch = scf::IfOp::create(
      b, any,
      [&](OpBuilder &builder, Location loc) {
        LocBuilder then(loc, builder);
        scf::YieldOp::create(then, reduceRows(then, tile::Reduction::Max, s, rows));
      },
      [&](OpBuilder &keep, Location loc) { scf::YieldOp::create(keep, loc, largest); });
  branch->setAttr(tile::rare, b.getUnitAttr());
  return branch.getResult(0);
}

/// Gives each row with a score above `limit` a new maximum. The largest as integers suffice to show that there is no
/// such row, unless the limit is negative. If scores are not negative, it hardly ever is.
static Rows raised(LocBuilder &b, ScaledScores s, Value limit, tile::SoftmaxUpdateOp op) {
  Value oldMax = op.getMax(), oldSum = op.getSum();
  Type rows = oldMax.getType();
  const bool asIntegers = !mayBeNegative(s.tile);
  Value largest = asIntegers ? largestAsIntegers(b, s.tile, rows) : reduceRows(b, tile::Reduction::Max, s.tile, rows);
  Value mayExceed = isAbove(b, scaled(b, largest, s.scale), limit);
  if (asIntegers)
    mayExceed = arith::OrIOp::create(b, mayExceed, isAbove(b, floatConstant(b, rows, 0), limit));
  auto raise = [&](OpBuilder &builder, Location loc) {
    LocBuilder then(loc, builder);
    Value blockMax = scaled(then, asIntegers ? maximaOf(then, s.tile, largest) : largest, s.scale);
    auto [m, l, alpha, any] = updateMax(then, op, blockMax, limit);
    scf::YieldOp::create(then, ValueRange{m, l, alpha, any});
  };
  Value one = floatConstant(b, rows, 1), none = arith::ConstantIntOp::create(b, b.getI1Type(), 0);
  auto branch = scf::IfOp::create(b, tile::AnyOp::create(b, mayExceed), raise, [&](OpBuilder &keep, Location loc) {
    scf::YieldOp::create(keep, loc, ValueRange{oldMax, oldSum, one, none});
  });
  branch->setAttr(tile::rare, b.getUnitAttr());
  return {branch.getResult(0), branch.getResult(1), branch.getResult(2), branch.getResult(3)};
}

/// Returns true if exponents may be fused. f16 needs warp specialization for it: warps that load their own tiles have
/// too few registers for both kinds of exponents.
static bool mayFuse(tile::SoftmaxUpdateOp op) { return hidesRounding(op) || tile::wantsRoles(op); }

/// Returns fused exponents, which are exact in rows whose maximum is far from 0. The scores of these rows become
/// differences, with a scale of 1 and a subtracted maximum of 0. The multiply-adds come after the branch and are common
/// to all rows, so that ptxas interleaves them with exponentials.
static Value fusedNearZero(LocBuilder &b, const ScaledScores &s, Value origin) {
  auto matrix = cast<RankedTensorType>(s.tile.getType());
  Type rows = origin.getType();
  Value exceedsRange = exceedsFusedRange(b, origin);
  auto differences = [&](OpBuilder &builder, Location loc) {
    LocBuilder then(loc, builder);
    Value difference = arith::SubFOp::create(then, computed(then, s), acrossColumns(then, origin, matrix));
    Value inFarRows = acrossColumns(then, exceedsRange, matrix.clone(then.getI1Type()));
    scf::YieldOp::create(then, arith::SelectOp::create(then, inFarRows, difference, s.tile).getResult());
  };
  auto scores = [&](OpBuilder &otherwise, Location loc) { scf::YieldOp::create(otherwise, loc, s.tile); };
  auto branch = scf::IfOp::create(b, tile::AnyOp::create(b, exceedsRange), differences, scores);
  branch->setAttr(tile::rare, b.getUnitAttr());
  Value one = floatConstant(b, rows, 1), zero = floatConstant(b, rows, 0);
  Value scale = arith::SelectOp::create(b, exceedsRange, one, scaled(b, one, s.scale));
  Value factor = arith::MulFOp::create(b, scale, floatConstant(b, rows, log2e));
  Value minus = minusOrigin(b, arith::SelectOp::create(b, exceedsRange, zero, origin));
  return math::FmaOp::create(b, branch.getResult(0), acrossColumns(b, factor, matrix), acrossColumns(b, minus, matrix));
}

/// Returns the exponents of probabilities relative to the maxima `m`.
static Value exponents(LocBuilder &b, const ScaledScores &s, Value m, tile::SoftmaxUpdateOp op) {
  Value origin = subtractedMax(b, m);
  if (hidesRounding(op))
    return fusedExponents(b, s, origin);
  return mayFuse(op) ? fusedNearZero(b, s, origin) : exactExponents(b, s, origin);
}

/// Emits the update for tensor cores. Rows are rescaled only if their maximum has grown by 2^8. After the first block
/// of keys, few have, and probabilities up to 2^8 are as exact as probabilities up to 1.
static SoftmaxState roundedUpdate(LocBuilder &b, tile::SoftmaxUpdateOp op) {
  Type rows = op.getMax().getType();
  ScaledScores s = mayFuse(op) ? withoutScale(op.getScores(), /*andAdded=*/false) : ScaledScores{op.getScores()};
  Value limit = arith::AddFOp::create(b, op.getMax(), floatConstant(b, rows, kRescaleThresholdLog2 * ln2));
  auto [m, l, alpha, any] = raised(b, s, limit, op);
  Value p = math::Exp2Op::create(b, exponents(b, s, m, op));
  Value newSum = arith::AddFOp::create(b, l, reduceRows(b, tile::Reduction::Add, p, rows));
  return {m, newSum, accumulate(b, op, p, any, alpha)};
}

static bool isOptimistic(Operation *op) { return tile::isOn(op, "tile.optimistic_softmax"); }

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
