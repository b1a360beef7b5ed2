// SPDX-License-Identifier: MIT
#include "compiler/simplify/ScaledScores.h"

#include "compiler/simplify/Constants.h"
#include "compiler/simplify/Softmax.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

using LocBuilder = ImplicitLocOpBuilder;

namespace tegula::simplify {

/// Returns the scalar that every element of `tile` equals, or null.
static Value splatOf(Value tile) {
  auto broadcast = tile.getDefiningOp<tile::BroadcastOp>();
  return broadcast && !isa<ShapedType>(broadcast.getSource().getType()) ? broadcast.getSource() : Value();
}

static Value splat(LocBuilder &b, Type tile, Value scalar) { return tile::BroadcastOp::create(b, tile, scalar); }

/// Returns true if a single op uses `value`, directly or in its regions.
static bool hasOneUser(Value value) {
  auto userHere = [&](Operation *user) { return value.getParentBlock()->findAncestorOpInBlock(*user); };
  Operation *first = value.use_empty() ? nullptr : userHere(*value.user_begin());
  return first && llvm::all_of(value.getUsers(), [&](Operation *user) { return userHere(user) == first; });
}

/// Returns the factor and the term that come last in all elements of `scores` except masked ones. The scale is null if
/// there is no such factor.
static ScaledScores partsOf(Value scores) {
  Operation *op = scores.getDefiningOp();
  if (auto product = dyn_cast_if_present<arith::MulFOp>(op))
    return {product.getLhs(), splatOf(product.getRhs())};
  if (auto sum = dyn_cast_if_present<math::FmaOp>(op))
    return {sum.getA(), splatOf(sum.getB()), sum.getC()};
  if (auto mask = dyn_cast_if_present<arith::SelectOp>(op))
    return matchPattern(mask.getFalseValue(), m_NegInfFloat()) ? partsOf(mask.getTrueValue()) : ScaledScores();
  auto branch = dyn_cast_if_present<scf::IfOp>(op);
  if (!branch || branch.getNumResults() != 1 || !hasOneUser(scores))
    return {};
  ScaledScores then = partsOf(branch.thenYield().getOperand(0)), other = partsOf(branch.elseYield().getOperand(0));
  return then.scale == other.scale && then.added == other.added ? then : ScaledScores();
}

static bool isLast(Operation *op) { return isa_and_present<arith::MulFOp, math::FmaOp>(op); }

namespace {
/// A rewriter that takes the factor, except its sign, and the term out of scores. A positive factor costs at most one
/// branch. If the scores have a branch on the mask boundary, the sign is tested there.
class Unscaled {
public:
  Unscaled(LocBuilder &b, Value scale) : b_(b), scale_(scale) {
    isNegative_ = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, scale, floatConstant(b, scale.getType(), 0));
    isPositive_ = arith::XOrIOp::create(b, isNegative_, arith::ConstantIntOp::create(b, b.getI1Type(), 1));
  }

  /// Returns `tile` without factor and term, as an operand of `user`.
  Value scores(Value tile, Operation *user) {
    Operation *op = tile.getDefiningOp();
    if (isLast(op))
      return withSign(partsOf(tile).tile, user);
    if (auto mask = dyn_cast<arith::SelectOp>(op)) {
      LocBuilder b(op->getLoc(), op);
      return arith::SelectOp::create(b, mask.getCondition(), scores(mask.getTrueValue(), op), mask.getFalseValue());
    }
    auto branch = cast<scf::IfOp>(op);
    if (!done_.insert(branch).second)
      return tile;
    scf::YieldOp then = branch.thenYield(), otherwise = branch.elseYield();
    if (Value whole = then.getOperand(0); isLast(whole.getDefiningOp())) {
      LocBuilder b(op->getLoc(), op);
      branch.getConditionMutable().assign(arith::AndIOp::create(b, branch.getCondition(), isPositive_));
      then.setOperand(0, partsOf(whole).tile);
    } else {
      then.setOperand(0, scores(then.getOperand(0), then));
    }
    otherwise.setOperand(0, scores(otherwise.getOperand(0), otherwise));
    return tile;
  }

  /// Returns the magnitude of the factor. If it is 0, returns the smallest normal number instead. That also leaves
  /// nothing of any score, but gives no NaN when it multiplies infinity.
  Value scale() {
    constexpr double smallest = std::numeric_limits<float>::min();
    Value magnitude = math::AbsFOp::create(b_, scale_);
    return selectWhere(b_, magnitude, 0, smallest, magnitude);
  }

private:
  Value withSign(Value unscaled, Operation *user) {
    LocBuilder b(user->getLoc(), user);
    auto negated = [&](LocBuilder &b) -> SmallVector<Value> { return {arith::NegFOp::create(b, unscaled)}; };
    return branch(b, isNegative_, negated, [&](LocBuilder &) -> SmallVector<Value> { return {unscaled}; })[0];
  }

  LocBuilder &b_;
  Value scale_, isNegative_, isPositive_;
  DenseSet<Operation *> done_; ///< Rewritten branches. Both sides of a later branch may yield the result of one.
};
} // namespace

ScaledScores withoutScale(Value scores, bool andAdded) {
  auto [tile, scale, added] = partsOf(scores);
  if (!scale || (added && !andAdded))
    return {scores};
  LocBuilder b(scores.getLoc(), scores.getContext());
  b.setInsertionPointAfterValue(scale);
  Unscaled unscaled(b, scale);
  return {unscaled.scores(scores, scores.getDefiningOp()), unscaled.scale(), added};
}

Value scaled(LocBuilder &b, Value rows, Value scale) {
  return scale ? arith::MulFOp::create(b, rows, splat(b, rows.getType(), scale)) : rows;
}

Value computed(LocBuilder &b, const ScaledScores &s) {
  if (!s.added)
    return scaled(b, s.tile, s.scale);
  Value sum = math::FmaOp::create(b, s.tile, splat(b, s.tile.getType(), s.scale), s.added);
  // Masked scores stay -inf, because the term may be NaN there.
  return selectWhere(b, s.tile, -infinity, -infinity, sum);
}

static Value log2eTimes(LocBuilder &b, Value scalar, double sign, Type tile) {
  return splat(b, tile, arith::MulFOp::create(b, scalar, floatConstant(b, scalar.getType(), sign * log2e)));
}

/// Returns x log2(e) + minusOrigins. If `x` is multiplied by a scalar, the scalar becomes part of the factor.
static Value exponentsOf(LocBuilder &b, Value x, Value minusOrigins) {
  auto negative = x.getDefiningOp<arith::NegFOp>();
  auto product = (negative ? negative.getOperand() : x).getDefiningOp<arith::MulFOp>();
  Value scalar = product ? splatOf(product.getRhs()) : Value();
  if (!scalar)
    return math::FmaOp::create(b, x, floatConstant(b, x.getType(), log2e), minusOrigins);
  Value factor = log2eTimes(b, scalar, negative ? -1 : 1, x.getType());
  return math::FmaOp::create(b, product.getLhs(), factor, minusOrigins);
}

Value fusedExponents(LocBuilder &b, const ScaledScores &s, Value origin) {
  Type matrix = s.tile.getType();
  Value minusOrigins = acrossColumns(b, minusOrigin(b, origin), matrix);
  if (!s.scale)
    return math::FmaOp::create(b, s.tile, floatConstant(b, matrix, log2e), minusOrigins);
  Value rest = s.added ? exponentsOf(b, s.added, minusOrigins) : minusOrigins;
  Value factor = log2eTimes(b, s.scale, 1, matrix);
  return math::FmaOp::create(b, s.tile, factor, rest);
}

Value exactExponents(LocBuilder &b, const ScaledScores &s, Value origin) {
  return relativeExponent(b, computed(b, s), acrossColumns(b, origin, s.tile.getType()));
}

RelativeScores differences(LocBuilder &b, const ScaledScores &s, Value origin) {
  Type matrix = s.tile.getType();
  Value difference = arith::SubFOp::create(b, computed(b, s), acrossColumns(b, origin, matrix));
  Value zero = floatConstant(b, origin.getType(), 0);
  if (!s.scale)
    return {difference, zero};
  Value inverse = arith::DivFOp::create(b, floatConstant(b, s.scale.getType(), 1), s.scale);
  return {arith::MulFOp::create(b, difference, splat(b, matrix, inverse)), zero};
}

} // namespace tegula::simplify
