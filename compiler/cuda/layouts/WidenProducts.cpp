// SPDX-License-Identifier: MIT
#include "compiler/cuda/layouts/Passes.h"
#include "compiler/cuda/layouts/analysis/WarpGrid.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_WIDENPRODUCTS
#include "compiler/cuda/layouts/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

/// Casts an operand with elements of e4m3 to f16.
static void widen(tile::DotOp dot, OpOperand &operand) {
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  if (!type || !isa<Float8E4M3FNType>(type.getElementType()))
    return;
  OpBuilder b(dot);
  operand.set(arith::ExtFOp::create(b, dot.getLoc(), type.clone(b.getF16Type()), operand.get()));
}

namespace {

struct WidenProducts : cuda::impl::WidenProductsBase<WidenProducts> {
  void runOnOperation() override {
    getOperation().walk([](tile::DotOp dot) {
      if (onWarpgroups(dot))
        return;
      widen(dot, dot.getLhsMutable());
      widen(dot, dot.getRhsMutable());
    });
  }
};

} // namespace
