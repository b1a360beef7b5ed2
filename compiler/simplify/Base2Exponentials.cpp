// SPDX-License-Identifier: MIT
#include "compiler/simplify/Constants.h"
#include "compiler/simplify/Passes.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tegula::simplify {
#define GEN_PASS_DEF_BASE2EXPONENTIALS
#include "compiler/simplify/Passes.h.inc"
} // namespace tegula::simplify

using namespace mlir;
using namespace tegula;
using namespace tegula::simplify;

static LogicalResult expToExp2(math::ExpOp op, PatternRewriter &rewriter) {
  if (!getElementTypeOrSelf(op.getType()).isF32())
    return rewriter.notifyMatchFailure(op, "log2e would be rounded to fewer bits than f32");
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  Value exponent = arith::MulFOp::create(b, op.getOperand(), floatConstant(b, op.getType(), log2e));
  rewriter.replaceOpWithNewOp<math::Exp2Op>(op, exponent);
  return success();
}

static LogicalResult logToLog2(math::LogOp op, PatternRewriter &rewriter) {
  if (!getElementTypeOrSelf(op.getType()).isF32())
    return rewriter.notifyMatchFailure(op, "ln2 would be rounded to fewer bits than f32");
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  Value log2 = math::Log2Op::create(b, op.getOperand());
  rewriter.replaceOpWithNewOp<arith::MulFOp>(op, log2, floatConstant(b, op.getType(), ln2));
  return success();
}

namespace {
struct Base2Exponentials : simplify::impl::Base2ExponentialsBase<Base2Exponentials> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add(expToExp2);
    patterns.add(logToLog2);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
