// SPDX-License-Identifier: MIT
#include "compiler/simplify/Softmax.h"

#include "compiler/simplify/Constants.h"
#include "compiler/sm/Elements.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

using LocBuilder = ImplicitLocOpBuilder;

namespace tegula::simplify {

Value acrossColumns(LocBuilder &b, Value rows, Type type) {
  auto rowsType = cast<RankedTensorType>(rows.getType());
  auto columnType = RankedTensorType::get({rowsType.getDimSize(0), 1}, rowsType.getElementType());
  return tile::BroadcastOp::create(b, type, tile::ReshapeOp::create(b, columnType, rows));
}

Value reduceRows(LocBuilder &b, tile::Reduction kind, Value matrix, Type type) {
  return tile::ReduceOp::create(b, type, kind, matrix, /*axis=*/1);
}

Value isAbove(LocBuilder &b, Value x, Value limit) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, limit);
}

Value selectWhere(LocBuilder &b, Value x, double value, double yes, Value no) {
  Value equal = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, floatConstant(b, x.getType(), value));
  return arith::SelectOp::create(b, equal, floatConstant(b, no.getType(), yes), no);
}

Value subtractedMax(LocBuilder &b, Value max) { return selectWhere(b, max, -infinity, 0, max); }

Value relativeExponent(LocBuilder &b, Value x, Value origin) {
  Value difference = arith::SubFOp::create(b, x, origin);
  return arith::MulFOp::create(b, difference, floatConstant(b, x.getType(), log2e));
}

Value minusOrigin(LocBuilder &b, Value origin) {
  return arith::MulFOp::create(b, origin, floatConstant(b, origin.getType(), -log2e));
}

/// Returns the largest abs(m) at which rounding P hides the error of a fused exponent. Rounding m log2(e), and m
/// itself, makes the largest probability 2^e instead of 1, with abs(e) up to 3 * 2^-24 m log2(e). It rounds to 1 if e
/// is at most half a rounding step.
static double fusedRange(tile::SoftmaxUpdateOp op) {
  return sm::hidesRounding(getElementTypeOrSelf(op.getValues())) ? 8192 : 512;
}

Value exceedsFusedRange(LocBuilder &b, tile::SoftmaxUpdateOp op, Value max) {
  return isAbove(b, math::AbsFOp::create(b, max), floatConstant(b, max.getType(), fusedRange(op)));
}

static scf::IfOp emitBranch(LocBuilder &b, Value condition, BuildValues then, BuildValues otherwise) {
  auto side = [](BuildValues build) {
    return [build](OpBuilder &builder, Location loc) {
      LocBuilder b(loc, builder);
      SmallVector<Value> values = build(b);
      scf::YieldOp::create(b, values);
    };
  };
  return scf::IfOp::create(b, condition, side(then), side(otherwise));
}

ResultRange branch(LocBuilder &b, Value condition, BuildValues then, BuildValues otherwise) {
  return emitBranch(b, condition, then, otherwise).getResults();
}

ResultRange rareBranch(LocBuilder &b, Value condition, BuildValues then, BuildValues otherwise) {
  scf::IfOp op = emitBranch(b, condition, then, otherwise);
  op->setAttr(tile::rare, b.getUnitAttr());
  return op.getResults();
}

RelativeScores withinFusedRange(LocBuilder &b, tile::SoftmaxUpdateOp op, const ScaledScores &s, Value origin) {
  auto exact = [&](LocBuilder &b) -> SmallVector<Value> {
    auto [tile, zero] = differences(b, s, origin);
    return {tile, zero};
  };
  auto fused = [&](LocBuilder &) -> SmallVector<Value> { return {s.tile, origin}; };
  ResultRange values = rareBranch(b, tile::AnyOp::create(b, exceedsFusedRange(b, op, origin)), exact, fused);
  return {values[0], values[1]};
}

Rows updateMax(LocBuilder &b, tile::SoftmaxUpdateOp op, Value largest, Value limit) {
  Value exceeds = isAbove(b, largest, limit), old = op.getMax();
  Value m = arith::SelectOp::create(b, exceeds, largest, old);
  Value alpha = math::Exp2Op::create(b, relativeExponent(b, old, subtractedMax(b, m)));
  Value l = arith::MulFOp::create(b, op.getSum(), alpha);
  Value isSeen = isAbove(b, old, floatConstant(b, old.getType(), -infinity));
  Value any = tile::AnyOp::create(b, arith::AndIOp::create(b, exceeds, isSeen));
  return {m, l, alpha, any};
}

static Value rescaled(LocBuilder &b, Value any, Value alpha, Value o) {
  auto product = [&](LocBuilder &b) -> SmallVector<Value> {
    return {arith::MulFOp::create(b, o, acrossColumns(b, alpha, o.getType()))};
  };
  return rareBranch(b, any, product, [&](LocBuilder &) -> SmallVector<Value> { return {o}; })[0];
}

Value keptProbabilities(LocBuilder &b, tile::SoftmaxUpdateOp op, Value p) {
  Value keep = op.getKeep();
  return keep ? arith::SelectOp::create(b, keep, p, floatConstant(b, p.getType(), 0)) : p;
}

Value addProduct(LocBuilder &b, tile::SoftmaxUpdateOp op, Value p, Value o) {
  auto product = tile::DotOp::create(b, o.getType(), p, op.getValues(), o);
  tile::inheritAttributes(product, op);
  return product;
}

Value accumulate(LocBuilder &b, tile::SoftmaxUpdateOp op, Value p, Value any, Value alpha) {
  Type narrow = getElementTypeOrSelf(op.getValues());
  Value kept = keptProbabilities(b, op, p);
  Value weights = arith::TruncFOp::create(b, cast<RankedTensorType>(p.getType()).clone(narrow), kept);
  // The output comes last, because the MMA that computes it may still be in flight.
  Value o = rescaled(b, any, alpha, op.getOutput());
  return addProduct(b, op, weights, o);
}

} // namespace tegula::simplify
