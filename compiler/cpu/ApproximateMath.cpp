// SPDX-License-Identifier: MIT
#include "compiler/cpu/Passes.h"
#include "compiler/tile/Functions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tegula::cpu {
#define GEN_PASS_DEF_APPROXIMATEMATH
#include "compiler/cpu/Passes.h.inc"

using namespace mlir;

namespace {

/// Expands the functions that all targets compute in the same way. Upstream approximates some of them, too, but less
/// accurately.
struct ExpandFunction : RewritePattern {
  explicit ExpandFunction(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), PatternBenefit(100), context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!tile::isExpandedFunction(op) || !getElementTypeOrSelf(op->getResult(0)).isF32())
      return failure();
    rewriter.replaceOp(op, tile::expandFunction(rewriter, op, op->getOperands()));
    return success();
  }
};

struct ApproximateMathPass : impl::ApproximateMathBase<ApproximateMathPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    MathPolynomialApproximationOptions options;
    patterns.add<ExpandFunction>(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, options);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

} // namespace tegula::cpu
