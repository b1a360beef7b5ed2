// SPDX-License-Identifier: MIT
#include "compiler/cuda/layouts/Passes.h"
#include "compiler/cuda/layouts/TensorProducts.h"
#include "compiler/cuda/layouts/analysis/ProductPlanning.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_PLANPRODUCTS
#include "compiler/cuda/layouts/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

/// Says why a dot gets no warpgroup. Fails if its attributes demand one.
static LogicalResult explain(tile::DotOp dot, const ProductPlanning &planning) {
  const std::string obstacle = planning.obstacleOf(dot);
  if (obstacle.empty() || dot->hasAttr(tile::warpLocal))
    return success();
  if (dot->hasAttr(tile::warpgroups))
    return dot.emitError("cannot be computed as its attributes say: ") << obstacle;
  if (onTensorCores(dot))
    dot.emitRemark("is not computed by warpgroups (wgmma): ") << obstacle;
  return success();
}

static void write(tile::DotOp dot, const ProductPlan &plan) {
  if (!obstacleTo(dot, plan).empty())
    return;
  Builder b(dot.getContext());
  dot->setAttr(tile::flipped, b.getBoolAttr(plan.flipped));
  dot->setAttr(tile::warpgroups, b.getDenseI64ArrayAttr({plan.rows, plan.columns}));
}

static LogicalResult planDots(func::FuncOp function, int64_t warpgroups) {
  const ProductPlanning planning(function, warpgroups);
  for (const DotGroup &group : planning.groups())
    for (tile::DotOp dot : group.dots)
      if (failed(explain(dot, planning)))
        return failure();
  for (const DotGroup &group : planning.groups())
    if (!group.possible.empty())
      for (tile::DotOp dot : group.able)
        write(dot, planning.chosen(group));
  return success();
}

namespace {
struct PlanProducts : cuda::impl::PlanProductsBase<PlanProducts> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    explainExactDots(module);
    const int64_t warpgroups = warpgroupsFor(module);
    if (warpgroups == 0)
      return;
    if (tile::isOn(module, tile::hasTensorMemory))
      return planTensorMemory(module, warpgroups * sm::kWarpsPerWarpgroup);
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(planDots(function, warpgroups)))
        return signalPassFailure();
  }

  /// Puts the accumulators of dots into tensor memory where that is possible.
  void planTensorMemory(ModuleOp module, int64_t warps) {
    module.walk([&](tile::DotOp dot) {
      if (!onTensorCores(dot))
        return;
      const bool asksForWarpgroups = dot->hasAttr(tile::warpgroups);
      const std::string obstacle = asksForWarpgroups ? "the GPU has no wgmma" : obstacleToTensorMemory(dot, warps);
      if (obstacle.empty()) {
        dot->setAttr(tile::inTensorMemory, UnitAttr::get(dot.getContext()));
      } else if (asksForWarpgroups || dot->hasAttr(tile::inTensorMemory)) {
        dot.emitError("cannot be computed as its attributes say: ") << obstacle;
        signalPassFailure();
      } else {
        dot.emitRemark("is not computed in tensor memory (tcgen05): ") << obstacle;
      }
    });
  }

  /// Says why a dot gets no tensor core.
  static void explainExactDots(ModuleOp module) {
    module.walk([](tile::DotOp dot) {
      if (!onTensorCores(dot))
        dot.emitRemark("is not computed by tensor cores: f32 is multiplied exactly; cast the operands to bf16 or f16, "
                       "or give the dot Precision::tf32");
    });
  }
};
} // namespace
