// SPDX-License-Identifier: MIT
#include "compiler/simplify/Constants.h"
#include "compiler/simplify/Passes.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
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

/// exp(x - origin). The difference comes first, and nothing is fused: it is exactly 0 where x is the maximum, so that the
/// largest probability is exactly 1, and so is the factor of a row whose maximum stays. An error in that factor would
/// be raised to the power of the number of blocks.
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

/// The same in one multiply-add and one exponential per element. The scaled origin is rounded, in both alike: a row
/// whose maximum stays is rescaled by exactly 1.
static Exponentials fusedExponentials(LocBuilder &b, Value s, Value m, Value origin) {
  Type matrix = s.getType(), rows = m.getType();
  Value minusOrigin = arith::MulFOp::create(b, origin, floatConstant(b, rows, -log2e));
  Value exponent = math::FmaOp::create(b, s, floatConstant(b, matrix, log2e), acrossColumns(b, minusOrigin, matrix));
  Value scaledMax = arith::MulFOp::create(b, m, floatConstant(b, rows, log2e));
  return {math::Exp2Op::create(b, exponent),
          math::Exp2Op::create(b, arith::AddFOp::create(b, scaledMax, minusOrigin))};
}

/// `p` in the element type of `values`.
static Value roundedLike(LocBuilder &b, Value p, Value values) {
  auto type = cast<RankedTensorType>(p.getType()).clone(getElementTypeOrSelf(values));
  return arith::TruncFOp::create(b, type, p);
}

static void decomposeUpdate(tile::SoftmaxUpdateOp op, bool roundProbabilities) {
  LocBuilder b(op.getLoc(), op);
  Value s = op.getScores(), m = op.getMax(), l = op.getSum(), o = op.getOutput();
  Type rows = m.getType();

  Value newMax = arith::MaxNumFOp::create(b, m, reduceRows(b, tile::Reduction::Max, s, rows));
  Value origin = exponentOrigin(b, newMax);
  bool round = roundProbabilities && !getElementTypeOrSelf(op.getValues()).isF32();
  auto [p, alpha] = round ? fusedExponentials(b, s, m, origin) : exponentials(b, s, m, origin);
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
