// SPDX-License-Identifier: MIT
#include "compiler/simplify/Passes.h"
#include "compiler/simplify/ScaledScores.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tegula::simplify {
#define GEN_PASS_DEF_SCALEAFTERMASKS
#include "compiler/simplify/Passes.h.inc"
} // namespace tegula::simplify

using namespace mlir;
using namespace tegula;
using namespace tegula::simplify;

static void scaleAfterMasks(math::Exp2Op exponential) {
  ScaledScores exponents = withoutScale(exponential.getOperand(), /*andAdded=*/false);
  if (!exponents.scale)
    return;
  ImplicitLocOpBuilder b(exponential.getLoc(), exponential);
  exponential.getOperandMutable().assign(computed(b, exponents));
}

namespace {
struct ScaleAfterMasks : simplify::impl::ScaleAfterMasksBase<ScaleAfterMasks> {
  void runOnOperation() override {
    getOperation().walk([](math::Exp2Op exponential) {
      if (exponential.getOperand().getDefiningOp<scf::IfOp>())
        scaleAfterMasks(exponential);
    });
  }
};
} // namespace
