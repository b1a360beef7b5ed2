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

namespace {
struct Exponentials {
  Value probabilities; ///< exp(s - origin)
  Value rescaling;     ///< exp(m - origin): what older sums and outputs are multiplied by.
};
} // namespace

static Exponentials exponentials(LocBuilder &b, Value s, Value m, Value origin) {
  return {relativeExp(b, s, acrossColumns(b, origin, s.getType())), relativeExp(b, m, origin)};
}

/// Scores that are still to be multiplied by a scalar, which is null for 1 and never 0.
struct ScaledScores {
  Value tile, scale;
};

/// The same in one multiply-add and one exponential per element. The scaled origin is rounded, in both alike: a row
/// whose maximum stays is rescaled by exactly 1.
static Exponentials fusedExponentials(LocBuilder &b, ScaledScores s, Value m, Value origin) {
  Type matrix = s.tile.getType(), rows = m.getType();
  Value minusOrigin = arith::MulFOp::create(b, origin, floatConstant(b, rows, -log2e));
  Value factor = floatConstant(b, matrix, log2e);
  if (s.scale) {
    Value scaled = arith::MulFOp::create(b, s.scale, floatConstant(b, s.scale.getType(), log2e));
    factor = tile::BroadcastOp::create(b, matrix, scaled);
  }
  Value exponent = math::FmaOp::create(b, s.tile, factor, acrossColumns(b, minusOrigin, matrix));
  Value scaledMax = arith::MulFOp::create(b, m, floatConstant(b, rows, log2e));
  return {math::Exp2Op::create(b, exponent), math::Exp2Op::create(b, arith::AddFOp::create(b, scaledMax, minusOrigin))};
}

/// `p` in the element type of `values`.
static Value roundedLike(LocBuilder &b, Value p, Value values) {
  auto type = cast<RankedTensorType>(p.getType()).clone(getElementTypeOrSelf(values));
  return arith::TruncFOp::create(b, type, p);
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

/// `tile` before its multiplication, for which scaleOf has found a factor. What is masked becomes whatever the factor's
/// sign turns into -inf.
static Value beforeScale(Value tile, Value scale) {
  Operation *op = tile.getDefiningOp();
  if (auto product = dyn_cast<arith::MulFOp>(op))
    return product.getLhs();
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (scf::YieldOp yield : {branch.thenYield(), branch.elseYield()})
      yield.setOperand(0, beforeScale(yield.getOperand(0), scale));
    return tile;
  }
  auto mask = cast<arith::SelectOp>(op);
  LocBuilder b(op->getLoc(), op);
  auto constant = [&](double value) { return floatConstant(b, scale.getType(), value); };
  Value isNegative = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, scale, constant(0));
  Value hidden = arith::SelectOp::create(b, isNegative, constant(infinity), constant(-infinity));
  return arith::SelectOp::create(b, mask.getCondition(), beforeScale(mask.getTrueValue(), scale),
                                 tile::BroadcastOp::create(b, tile.getType(), hidden));
}

/// Takes the multiplication by a scalar out of the scores.
static ScaledScores withoutScale(LocBuilder &b, Value s) {
  Value scale = scaleOf(s);
  if (!scale)
    return {s, {}};
  // In place of 0 a number that leaves nothing of any score either, but is no NaN times infinity.
  constexpr double smallest = std::numeric_limits<float>::min();
  return {beforeScale(s, scale), selectWhere(b, scale, 0, smallest, scale)};
}

/// Of the products. The largest one is that of the smallest score if the factor is negative.
static Value maxOfRows(LocBuilder &b, ScaledScores s, Type rows) {
  if (!s.scale)
    return reduceRows(b, tile::Reduction::Max, s.tile, rows);
  Value isNegative =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, s.scale, floatConstant(b, s.scale.getType(), 0));
  auto yield = [&](tile::Reduction kind) {
    return [=](OpBuilder &builder, Location loc) {
      LocBuilder inner(loc, builder);
      scf::YieldOp::create(inner, reduceRows(inner, kind, s.tile, rows));
    };
  };
  auto extreme = scf::IfOp::create(b, isNegative, yield(tile::Reduction::Min), yield(tile::Reduction::Max));
  return arith::MulFOp::create(b, extreme.getResult(0), tile::BroadcastOp::create(b, rows, s.scale));
}

//===-- Operations -----------------------------------------------------------------------------------------------===//

/// `m` where `newMax` is at most so many powers of two above it: probabilities up to 2^threshold instead of 1 are as
/// exact, and the row need not be rescaled.
static Value keepUnlessAbove(LocBuilder &b, Value m, Value newMax, int64_t threshold) {
  Value growth = arith::SubFOp::create(b, newMax, m);
  Value limit = floatConstant(b, m.getType(), static_cast<double>(threshold) * ln2);
  Value exceeds = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, growth, limit);
  return arith::SelectOp::create(b, exceeds, newMax, m);
}

/// 0 if maxima are always up to date.
static int64_t rescaleThreshold(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  auto threshold = module ? module->getAttrOfType<IntegerAttr>("tile.rescale_threshold") : IntegerAttr();
  return threshold ? threshold.getInt() : 0;
}

static void decomposeUpdate(tile::SoftmaxUpdateOp op, bool roundProbabilities) {
  LocBuilder b(op.getLoc(), op);
  Value m = op.getMax(), l = op.getSum(), o = op.getOutput();
  Type rows = m.getType();
  Type values = getElementTypeOrSelf(op.getValues());
  bool round = roundProbabilities && !values.isF32();
  bool fuse = round && values.isBF16();
  int64_t threshold = rescaleThreshold(op);
  bool isLazy = round && threshold != 0;

  ScaledScores s = isLazy && fuse ? withoutScale(b, op.getScores()) : ScaledScores{op.getScores(), {}};
  Value newMax = arith::MaxNumFOp::create(b, m, maxOfRows(b, s, rows));
  if (isLazy)
    newMax = keepUnlessAbove(b, m, newMax, threshold);
  Value origin = exponentOrigin(b, newMax);
  auto [p, alpha] = fuse ? fusedExponentials(b, s, m, origin) : exponentials(b, s.tile, m, origin);
  Value newSum = math::FmaOp::create(b, l, alpha, reduceRows(b, tile::Reduction::Add, p, rows));
  auto rescaled = arith::MulFOp::create(b, o, acrossColumns(b, alpha, o.getType()));
  if (round)
    rescaled->setAttr("tile.often_one", b.getUnitAttr());
  Value weights = round ? roundedLike(b, p, op.getValues()) : p;
  Value newOutput = tile::DotOp::create(b, o.getType(), weights, op.getValues(), rescaled);

  op.replaceAllUsesWith(ValueRange{newMax, newSum, newOutput});
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
          .Case<tile::SoftmaxOutputOp>(decomposeOutput)
          .Case<tile::SoftmaxLseOp>(decomposeLse);
    });
  }
};
} // namespace
