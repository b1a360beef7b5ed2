// SPDX-License-Identifier: MIT
#include "compiler/simplify/Constants.h"
#include "compiler/simplify/Passes.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tegula::simplify {
#define GEN_PASS_DEF_BASE2EXPONENTIALS
#include "compiler/simplify/Passes.h.inc"
} // namespace tegula::simplify

using namespace mlir;
using namespace tegula;
using namespace tegula::simplify;

constexpr auto contract = arith::FastMathFlags::contract;
constexpr auto exponentFlags = arith::FastMathFlags::contract | arith::FastMathFlags::reassoc;

/// x * factor, a factor of an exponent: it may be regrouped.
static Value scaleExponent(ImplicitLocOpBuilder &b, Value x, double factor) {
  return arith::MulFOp::create(b, x, floatConstant(b, x.getType(), factor), exponentFlags);
}

static std::optional<double> constantFactor(Value value) {
  APFloat factor(0.0f);
  if (!matchPattern(value, m_ConstantFloat(&factor)))
    return std::nullopt;
  return factor.convertToDouble();
}

/// The factor c of an exponent `x * c`; none if `product` is anything else.
static std::optional<double> exponentFactor(arith::MulFOp product) {
  bool regroupable = bitEnumContainsAll(product.getFastmath(), arith::FastMathFlags::reassoc);
  return regroupable ? constantFactor(product.getRhs()) : std::nullopt;
}

//===-- To base 2 ------------------------------------------------------------------------------------------------===//

static LogicalResult expToExp2(math::ExpOp op, PatternRewriter &rewriter) {
  if (!getElementTypeOrSelf(op.getType()).isF32())
    return rewriter.notifyMatchFailure(op, "log2e would be rounded to fewer bits than f32");
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  rewriter.replaceOpWithNewOp<math::Exp2Op>(op, scaleExponent(b, op.getOperand(), log2e));
  return success();
}

static LogicalResult logToLog2(math::LogOp op, PatternRewriter &rewriter) {
  if (!getElementTypeOrSelf(op.getType()).isF32())
    return rewriter.notifyMatchFailure(op, "ln2 would be rounded to fewer bits than f32");
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  Value log2 = math::Log2Op::create(b, op.getOperand());
  rewriter.replaceOpWithNewOp<arith::MulFOp>(op, log2, floatConstant(b, op.getType(), ln2), contract);
  return success();
}

//===-- Factors of an exponent -----------------------------------------------------------------------------------===//

/// `first * factor` if first is a constant or a repeated scalar, so that this costs nothing per element; else null.
static Value foldFactor(ImplicitLocOpBuilder &b, Value first, double factor) {
  if (auto constant = constantFactor(first))
    return floatConstant(b, first.getType(), *constant * factor);
  auto broadcast = first.getDefiningOp<tile::BroadcastOp>();
  if (!broadcast || isa<ShapedType>(broadcast.getSource().getType()))
    return {};
  return tile::BroadcastOp::create(b, first.getType(), scaleExponent(b, broadcast.getSource(), factor));
}

/// (x * c) * factor = x * (c * factor)
static LogicalResult foldIntoProduct(arith::MulFOp op, PatternRewriter &rewriter) {
  auto factor = exponentFactor(op);
  auto product = op.getLhs().getDefiningOp<arith::MulFOp>();
  if (!factor || !product)
    return rewriter.notifyMatchFailure(op, "not the factor of a product in an exponent");
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  for (auto [x, c] : {std::pair(product.getLhs(), product.getRhs()), std::pair(product.getRhs(), product.getLhs())}) {
    if (Value folded = foldFactor(b, c, *factor)) {
      rewriter.replaceOpWithNewOp<arith::MulFOp>(op, x, folded, exponentFlags);
      return success();
    }
  }
  return rewriter.notifyMatchFailure(op, "neither operand is a constant or a repeated scalar");
}

/// -x * factor = x * -factor
static LogicalResult foldIntoNegation(arith::MulFOp op, PatternRewriter &rewriter) {
  auto factor = exponentFactor(op);
  auto negation = op.getLhs().getDefiningOp<arith::NegFOp>();
  if (!factor || !negation)
    return rewriter.notifyMatchFailure(op, "not the factor of a negation in an exponent");
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  rewriter.replaceOp(op, scaleExponent(b, negation.getOperand(), -*factor));
  return success();
}

/// (x - r) * factor = x * factor - r * factor, where r is repeated: one fused multiply-add per element.
static LogicalResult foldIntoDifference(arith::MulFOp op, PatternRewriter &rewriter) {
  auto factor = exponentFactor(op);
  auto difference = op.getLhs().getDefiningOp<arith::SubFOp>();
  auto repeated = difference ? difference.getRhs().getDefiningOp<tile::BroadcastOp>() : tile::BroadcastOp();
  if (!factor || !repeated)
    return rewriter.notifyMatchFailure(op, "not the factor of a difference from a broadcast in an exponent");
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  Value scaled = scaleExponent(b, difference.getLhs(), *factor);
  Value origin = tile::BroadcastOp::create(b, op.getType(), scaleExponent(b, repeated.getSource(), *factor));
  rewriter.replaceOpWithNewOp<arith::SubFOp>(op, scaled, origin, contract);
  return success();
}

namespace {
struct Base2Exponentials : simplify::impl::Base2ExponentialsBase<Base2Exponentials> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add(expToExp2);
    patterns.add(logToLog2);
    patterns.add(foldIntoProduct);
    patterns.add(foldIntoNegation);
    patterns.add(foldIntoDifference);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
