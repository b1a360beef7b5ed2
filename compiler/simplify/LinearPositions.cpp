// SPDX-License-Identifier: MIT
#include "compiler/simplify/AffineTile.h"
#include "compiler/simplify/Passes.h"
#include "compiler/sm/Sm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/Pass.h"

namespace tegula::simplify {
#define GEN_PASS_DEF_LINEARPOSITIONS
#include "compiler/simplify/Passes.h.inc"
} // namespace tegula::simplify

using namespace mlir;
using namespace tegula;
using namespace tegula::simplify;

static void countUp(arith::SIToFPOp conversion) {
  auto type = dyn_cast<RankedTensorType>(conversion.getType());
  if (!type || !type.getElementType().isF32())
    return;
  auto magnitude = conversion.getIn().getDefiningOp<math::AbsIOp>();
  std::optional<AffineTile> positions = AffineTiles().find(magnitude ? magnitude.getOperand() : conversion.getIn());
  if (!positions || positions->isConstant())
    return;
  ImplicitLocOpBuilder b(conversion.getLoc(), conversion);
  Value position = arith::IndexCastOp::create(b, b.getI32Type(), positions->first(b));
  Value first = arith::SIToFPOp::create(b, b.getF32Type(), position);
  Value numbers = sm::LinearOp::create(b, type, first, positions->steps());
  if (magnitude)
    numbers = math::AbsFOp::create(b, numbers);
  conversion.replaceAllUsesWith(numbers);
  conversion.erase();
}

namespace {
struct LinearPositions : simplify::impl::LinearPositionsBase<LinearPositions> {
  void runOnOperation() override { getOperation()->walk(countUp); }
};
} // namespace
