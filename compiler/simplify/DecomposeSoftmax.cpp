// SPDX-License-Identifier: MIT
#include "compiler/simplify/Constants.h"
#include "compiler/simplify/Passes.h"
#include "compiler/tile/Tile.h"

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
constexpr double infinity = std::numeric_limits<double>::infinity();

/// `rows` [m] repeated along the columns of a tile of type [m, n].
static Value acrossColumns(LocBuilder &b, Value rows, Type type) {
  auto rowsType = cast<RankedTensorType>(rows.getType());
  auto columnType = RankedTensorType::get({rowsType.getDimSize(0), 1}, rowsType.getElementType());
  return tile::BroadcastOp::create(b, type, tile::ReshapeOp::create(b, columnType, rows));
}

static Value reduceRows(LocBuilder &b, tile::Reduction kind, Value matrix, Type type) {
  return tile::ReduceOp::create(b, type, kind, matrix, /*axis=*/1);
}

/// `yes` where x equals `value`, else `no`.
static Value selectWhere(LocBuilder &b, Value x, double value, double yes, Value no) {
  Value equal = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, floatConstant(b, x.getType(), value));
  return arith::SelectOp::create(b, equal, floatConstant(b, no.getType(), yes), no);
}

/// The maximum, and 0 where that is -inf, so that subtracting it from another -inf gives no NaN.
static Value exponentOrigin(LocBuilder &b, Value max) { return selectWhere(b, max, -infinity, 0, max); }

/// exp(x - origin). The difference comes first, and nothing is fused: it is exactly 0 where x is the maximum, so that
/// the largest probability is exactly 1, and so is the factor of a row whose maximum stays. An error in that factor
/// would be raised to the power of the number of blocks.
static Value relativeExp(LocBuilder &b, Value x, Value origin) {
  Value difference = arith::SubFOp::create(b, x, origin);
  return math::Exp2Op::create(b, arith::MulFOp::create(b, difference, floatConstant(b, x.getType(), log2e)));
}

//===-- Scales ---------------------------------------------------------------------------------------------------===//

/// The scalar that all elements of `tile`, but for masked ones, are a product with; null if there is none.
static Value scaleOf(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (auto product = dyn_cast_if_present<arith::MulFOp>(op)) {
    auto factor = product.getRhs().getDefiningOp<tile::BroadcastOp>();
    return factor && !isa<ShapedType>(factor.getSource().getType()) ? factor.getSource() : Value();
  }
  if (auto mask = dyn_cast_if_present<arith::SelectOp>(op))
    return matchPattern(mask.getFalseValue(), m_NegInfFloat()) ? scaleOf(mask.getTrueValue()) : Value();
  auto branch = dyn_cast_if_present<scf::IfOp>(op);
  if (!branch || branch.getNumResults() != 1 || !tile.hasOneUse())
    return {};
  Value scale = scaleOf(branch.thenYield().getOperand(0));
  return scale == scaleOf(branch.elseYield().getOperand(0)) ? scale : Value();
}

namespace {
/// Scores that are still to be multiplied by a positive scalar, which is null for 1.
struct ScaledScores {
  Value tile, scale;
};

/// Takes the multiplication by a scalar out of scores, but for its sign. A positive one costs a branch at most, which
/// is that of an edge mask if there is one.
class Unscaled {
public:
  Unscaled(LocBuilder &b, Value scale) : b_(b), scale_(scale) {
    isNegative_ = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, scale, floatConstant(b, scale.getType(), 0));
    isPositive_ = arith::XOrIOp::create(b, isNegative_, arith::ConstantIntOp::create(b, b.getI1Type(), 1));
  }

  /// Of `tile`, for `user`.
  Value scores(Value tile, Operation *user) {
    Operation *op = tile.getDefiningOp();
    if (auto product = dyn_cast<arith::MulFOp>(op))
      return withSign(product.getLhs(), user);
    if (auto mask = dyn_cast<arith::SelectOp>(op)) {
      LocBuilder b(op->getLoc(), op);
      return arith::SelectOp::create(b, mask.getCondition(), scores(mask.getTrueValue(), op), mask.getFalseValue());
    }
    auto branch = cast<scf::IfOp>(op);
    scf::YieldOp then = branch.thenYield(), otherwise = branch.elseYield();
    if (auto whole = then.getOperand(0).getDefiningOp<arith::MulFOp>()) {
      LocBuilder b(op->getLoc(), op);
      branch.getConditionMutable().assign(arith::AndIOp::create(b, branch.getCondition(), isPositive_));
      then.setOperand(0, whole.getLhs());
    } else {
      then.setOperand(0, scores(then.getOperand(0), then));
    }
    otherwise.setOperand(0, scores(otherwise.getOperand(0), otherwise));
    return tile;
  }

  /// In place of 0 a number that leaves nothing of any score either, but is no NaN times infinity.
  Value scale() {
    constexpr double smallest = std::numeric_limits<float>::min();
    Value magnitude = math::AbsFOp::create(b_, scale_);
    return selectWhere(b_, magnitude, 0, smallest, magnitude);
  }

private:
  Value withSign(Value unscaled, Operation *user) {
    LocBuilder b(user->getLoc(), user);
    auto branch = scf::IfOp::create(
        b, isNegative_,
        [&](OpBuilder &then, Location loc) {
          scf::YieldOp::create(then, loc, arith::NegFOp::create(then, loc, unscaled).getResult());
        },
        [&](OpBuilder &otherwise, Location loc) { scf::YieldOp::create(otherwise, loc, unscaled); });
    return branch.getResult(0);
  }

  LocBuilder &b_;
  Value scale_, isNegative_, isPositive_;
};
} // namespace

static ScaledScores withoutScale(Value s) {
  Value scale = scaleOf(s);
  if (!scale)
    return {s, {}};
  LocBuilder b(s.getLoc(), s.getContext());
  b.setInsertionPointAfterValue(scale);
  Unscaled unscaled(b, scale);
  return {unscaled.scores(s, s.getDefiningOp()), unscaled.scale()};
}

//===-- Operations -----------------------------------------------------------------------------------------------===//

namespace {
struct State {
  Value m, l, o;
};
} // namespace

/// FlashAttention-2 as it is written.
static State update(LocBuilder &b, tile::SoftmaxUpdateOp op) {
  Value s = op.getScores(), m = op.getMax();
  Type rows = m.getType();
  Value newMax = arith::MaxNumFOp::create(b, m, reduceRows(b, tile::Reduction::Max, s, rows));
  Value origin = exponentOrigin(b, newMax);
  Value p = relativeExp(b, s, acrossColumns(b, origin, s.getType()));
  Value alpha = relativeExp(b, m, origin);
  Value newSum = math::FmaOp::create(b, op.getSum(), alpha, reduceRows(b, tile::Reduction::Add, p, rows));
  Value o = op.getOutput();
  Value rescaled = arith::MulFOp::create(b, o, acrossColumns(b, alpha, o.getType()));
  return {newMax, newSum, tile::DotOp::create(b, o.getType(), p, op.getValues(), rescaled)};
}

/// What is added to exponents to base 2 in rows whose maximum is `m`.
static Value minusOrigin(LocBuilder &b, Value m) {
  return arith::MulFOp::create(b, exponentOrigin(b, m), floatConstant(b, m.getType(), -log2e));
}

/// exp(s - m), in one multiply-add and one exponential per element if `fuse`: the scaled maximum is then rounded.
static Value probabilities(LocBuilder &b, ScaledScores s, Value m, bool fuse) {
  Type matrix = s.tile.getType();
  if (!fuse)
    return relativeExp(b, s.tile, acrossColumns(b, exponentOrigin(b, m), matrix));
  Value factor = floatConstant(b, matrix, log2e);
  if (s.scale) {
    Value scaled = arith::MulFOp::create(b, s.scale, floatConstant(b, s.scale.getType(), log2e));
    factor = tile::BroadcastOp::create(b, matrix, scaled);
  }
  Value origins = acrossColumns(b, minusOrigin(b, m), matrix);
  return math::Exp2Op::create(b, math::FmaOp::create(b, s.tile, factor, origins));
}

/// exp(old - m), rounded as the probabilities are: exactly 1 in a row whose maximum stays.
static Value rescaling(LocBuilder &b, Value old, Value m, bool fuse) {
  if (!fuse)
    return relativeExp(b, old, exponentOrigin(b, m));
  Value oldOrigin = arith::MulFOp::create(b, old, floatConstant(b, m.getType(), log2e));
  return math::Exp2Op::create(b, arith::AddFOp::create(b, oldOrigin, minusOrigin(b, m)));
}

static Value scaled(LocBuilder &b, Value rows, Value scale) {
  return scale ? arith::MulFOp::create(b, rows, tile::BroadcastOp::create(b, rows.getType(), scale)) : rows;
}

static Value isAbove(LocBuilder &b, Value x, Value limit) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, limit);
}

/// The largest of each row as integers, of which sm_90 compares three at a time: the maximum where that is positive,
/// else some element of the row.
static Value largestAsIntegers(LocBuilder &b, Value s, Type rows) {
  auto ofBits = [&](Type type) { return cast<RankedTensorType>(type).clone(b.getI32Type()); };
  Value bits = arith::BitcastOp::create(b, ofBits(s.getType()), s);
  return arith::BitcastOp::create(b, rows, reduceRows(b, tile::Reduction::Max, bits, ofBits(rows)));
}

/// Whether whole rows of scores may be negative, as those to which a bias has been added.
static bool mayBeNegative(Value scores) {
  Operation *op = scores.getDefiningOp();
  if (auto mask = dyn_cast_if_present<arith::SelectOp>(op))
    return mayBeNegative(mask.getTrueValue());
  if (auto branch = dyn_cast_if_present<scf::IfOp>(op))
    return mayBeNegative(branch.thenYield().getOperand(cast<OpResult>(scores).getResultNumber()));
  return isa_and_present<arith::AddFOp, arith::SubFOp, math::FmaOp>(op);
}

/// The maxima of rows, of which `largest` are the largest as integers.
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
  return branch.getResult(0);
}

namespace {
/// A row's maximum and sum, what its output is multiplied by, and whether that does anything.
struct Rows {
  Value m, l, alpha, any;
};
} // namespace

/// Rows with scores above `limit` become relative to their maximum. The largest as integers tell that there are none,
/// unless the limit is negative, which it hardly ever is where scores are not.
static Rows raised(LocBuilder &b, ScaledScores s, Value limit, tile::SoftmaxUpdateOp op, bool fuse) {
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
    Value exceeds = isAbove(then, blockMax, limit);
    Value m = arith::SelectOp::create(then, exceeds, blockMax, oldMax);
    Value alpha = rescaling(then, oldMax, m, fuse);
    Value l = arith::MulFOp::create(then, oldSum, alpha);
    Value isSeen = isAbove(then, oldMax, floatConstant(then, rows, -infinity));
    Value any = tile::AnyOp::create(then, arith::AndIOp::create(then, exceeds, isSeen));
    scf::YieldOp::create(then, ValueRange{m, l, alpha, any});
  };
  Value one = floatConstant(b, rows, 1), none = arith::ConstantIntOp::create(b, b.getI1Type(), 0);
  auto branch = scf::IfOp::create(b, tile::AnyOp::create(b, mayExceed), raise, [&](OpBuilder &keep, Location loc) {
    scf::YieldOp::create(keep, loc, ValueRange{oldMax, oldSum, one, none});
  });
  return {branch.getResult(0), branch.getResult(1), branch.getResult(2), branch.getResult(3)};
}

static Value rescaled(LocBuilder &b, Value any, Value alpha, Value o) {
  auto branch = scf::IfOp::create(
      b, any,
      [&](OpBuilder &builder, Location loc) {
        LocBuilder then(loc, builder);
        scf::YieldOp::create(then, arith::MulFOp::create(then, o, acrossColumns(then, alpha, o.getType())).getResult());
      },
      [&](OpBuilder &keep, Location loc) { scf::YieldOp::create(keep, loc, o); });
  return branch.getResult(0);
}

/// For tensor cores. Rows are rescaled only where their maximum has grown by 2^8; there are few after the first block,
/// and probabilities up to 2^8 instead of 1 are as exact. The output comes last, since it may still be under way.
static State roundedUpdate(LocBuilder &b, tile::SoftmaxUpdateOp op) {
  constexpr double threshold = 8;
  Type rows = op.getMax().getType(), narrow = getElementTypeOrSelf(op.getValues());
  bool fuse = narrow.isBF16(); // Whose rounding hides that of the maximum.
  ScaledScores s = fuse ? withoutScale(op.getScores()) : ScaledScores{op.getScores(), {}};
  Value limit = arith::AddFOp::create(b, op.getMax(), floatConstant(b, rows, threshold * ln2));
  auto [m, l, alpha, any] = raised(b, s, limit, op, fuse);
  Value p = probabilities(b, s, m, fuse);
  Value newSum = arith::AddFOp::create(b, l, reduceRows(b, tile::Reduction::Add, p, rows));
  Value weights = arith::TruncFOp::create(b, cast<RankedTensorType>(p.getType()).clone(narrow), p);
  Value o = rescaled(b, any, alpha, op.getOutput());
  return {m, newSum, tile::DotOp::create(b, o.getType(), weights, op.getValues(), o)};
}

static void decomposeUpdate(tile::SoftmaxUpdateOp op, bool roundProbabilities) {
  LocBuilder b(op.getLoc(), op);
  bool round = roundProbabilities && !getElementTypeOrSelf(op.getValues()).isF32();
  auto [m, l, o] = round ? roundedUpdate(b, op) : update(b, op);
  op.replaceAllUsesWith(ValueRange{m, l, o});
  op.erase();
}

static void decomposeOutput(tile::SoftmaxOutputOp op, bool roundProbabilities) {
  LocBuilder b(op.getLoc(), op);
  const bool isRounded = llvm::all_of(op->getUsers(), llvm::IsaPred<arith::TruncFOp>);
  const auto accuracy = roundProbabilities && isRounded ? arith::FastMathFlags::afn : arith::FastMathFlags::none;
  Value l = op.getSum(), o = op.getOutput();
  Value quotient = arith::DivFOp::create(b, floatConstant(b, l.getType(), 1), l, accuracy);
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
          .Case([&](tile::SoftmaxOutputOp output) { decomposeOutput(output, roundProbabilities); })
          .Case<tile::SoftmaxLseOp>(decomposeLse);
    });
  }
};
} // namespace
