// SPDX-License-Identifier: MIT
#include "compiler/cuda/layouts/Passes.h"
#include "compiler/cuda/layouts/analysis/ProductPlanning.h"

#include "llvm/Support/FormatVariadic.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_PRINTPRODUCTCOSTS
#include "compiler/cuda/layouts/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

static std::string nameOf(const ProductPlan &plan) {
  return llvm::formatv("{0}{1} x {2} warpgroups", plan.flipped ? "flipped, " : "", plan.rows, plan.columns);
}

/// Returns the cost of the function with this plan, or why `dot` cannot have it.
static std::string judge(tile::DotOp dot, const ProductPlan &plan, const DotGroup &group,
                         const ProductPlanning &planning) {
  if (std::string obstacle = obstacleTo(dot, plan); !obstacle.empty())
    return obstacle;
  if (!agreesWith(plan, dot))
    return "its attributes say another";
  if (!llvm::is_contained(group.possible, plan))
    return "dots that are tied to this one need another";
  const bool isChosen = plan == planning.chosen(group);
  return llvm::formatv("{0:F0} clocks{1}", planning.costWith(group, plan), isChosen ? ", chosen" : "");
}

/// Emits a remark for each plan, or one if there are none.
static void print(tile::DotOp dot, const DotGroup &group, const ProductPlanning &planning) {
  if (std::string obstacle = obstacleToWarpgroups(dot); !obstacle.empty())
    dot.emitRemark("is not for warpgroups: ") << obstacle;
  else
    for (const ProductPlan &plan : planning.plans())
      dot.emitRemark(nameOf(plan)) << ": " << judge(dot, plan, group, planning);
}

namespace {
struct PrintProductCosts : cuda::impl::PrintProductCostsBase<PrintProductCosts> {
  void runOnOperation() override {
    const int64_t warpgroups = warpgroupsFor(getOperation());
    if (warpgroups == 0 || tile::isOn(getOperation(), tile::hasTensorMemory)) // Tensor memory has no choice of plans.
      return;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      const ProductPlanning planning(function, warpgroups);
      for (const DotGroup &group : planning.groups())
        for (tile::DotOp dot : group.dots)
          print(dot, group, planning);
    }
  }
};
} // namespace
