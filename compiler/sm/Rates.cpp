// SPDX-License-Identifier: MIT
#include "compiler/sm/Rates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tegula;

/// Returns the number of special functions for one element, as cuda/threads/lower/Elementwise.cpp computes it.
static int64_t specialFunctionsOfElement(Operation *op) {
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case<math::Exp2Op, math::ExpOp, math::Log2Op, math::LogOp, math::SqrtOp>([](auto) { return 1; })
      .Case<arith::DivFOp, math::PowFOp>([](auto) { return 1; }) // Each has one reciprocal.
      .Case([](math::TanhOp tanh) {
        const bool isFast = arith::bitEnumContainsAny(tanh.getFastmath(), arith::FastMathFlags::afn);
        return isFast ? 1 : 2; // Otherwise an exponential and a reciprocal.
      })
      .Default([](Operation *) { return 0; });
}

int64_t sm::specialFunctionsOf(Operation *op) {
  auto tile = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType()) : RankedTensorType();
  return tile ? tile.getNumElements() * specialFunctionsOfElement(op) : 0;
}
