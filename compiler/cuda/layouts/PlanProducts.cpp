// SPDX-License-Identifier: MIT
#include "compiler/cuda/layouts/Passes.h"
#include "compiler/cuda/layouts/TensorProducts.h"
#include "compiler/cuda/layouts/analysis/ProductCost.h"

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_PLANPRODUCTS
#include "compiler/cuda/layouts/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

constexpr int64_t defaultWarps = 4;

/// Returns all plans for `warpgroups` warpgroups: those that are not flipped first, and those along the rows first.
static SmallVector<ProductPlan> plansOf(int64_t warpgroups) {
  SmallVector<ProductPlan> plans;
  for (bool flipped : {false, true})
    for (int64_t rows = warpgroups; rows >= 1; --rows)
      if (warpgroups % rows == 0)
        plans.push_back({flipped, rows, warpgroups / rows});
  return plans;
}

/// Returns true if `plan` is what the attributes of `dot` say, as far as it has any.
static bool agreesWith(const ProductPlan &plan, tile::DotOp dot) {
  auto flipped = dot->getAttrOfType<BoolAttr>(tile::flipped);
  auto split = dot->getAttrOfType<DenseI64ArrayAttr>(tile::warpgroups);
  return (!flipped || flipped.getValue() == plan.flipped) &&
         (!split || (split[0] == plan.rows && split[1] == plan.columns));
}

namespace {

class ProductPlanning {
public:
  ProductPlanning(func::FuncOp function, int64_t warpgroups)
      : function_(function), groups_(function), all_(plansOf(warpgroups)) {}

  LogicalResult run() {
    if (failed(collect()))
      return failure();
    choose();
    for (tile::DotOp dot : dots_)
      write(dot);
    return success();
  }

private:
  /// Finds the dots for warpgroups and the plans that their groups can have.
  LogicalResult collect() {
    llvm::MapVector<Value, SmallVector<tile::DotOp>> members;
    function_.walk([&](tile::DotOp dot) { members[groups_.of(dot.getResult())].push_back(dot); });
    for (auto &[group, dots] : members)
      if (failed(collect(group, dots)))
        return failure();
    return success();
  }

  LogicalResult collect(Value group, ArrayRef<tile::DotOp> dots) {
    SmallVector<tile::DotOp> able;
    llvm::copy_if(dots, std::back_inserter(able), [](tile::DotOp dot) { return obstacleToWarpgroups(dot).empty(); });
    SmallVector<ProductPlan> possible;
    for (const ProductPlan &plan : all_)
      if ((!plan.flipped || able.size() == dots.size()) && isPossible(plan, able))
        possible.push_back(plan);
    for (tile::DotOp dot : dots)
      if (failed(explain(dot, possible)))
        return failure();
    if (possible.empty())
      return success();
    llvm::append_range(dots_, able);
    possible_.push_back({group, possible});
    return success();
  }

  static bool isPossible(const ProductPlan &plan, ArrayRef<tile::DotOp> dots) {
    return llvm::all_of(dots, [&](tile::DotOp dot) { return agreesWith(plan, dot); }) &&
           llvm::any_of(dots, [&](tile::DotOp dot) { return obstacleTo(dot, plan).empty(); });
  }

  /// Says why a dot gets no warpgroup. Fails if its attributes demand one.
  LogicalResult explain(tile::DotOp dot, ArrayRef<ProductPlan> possible) const {
    if (llvm::any_of(possible, [&](const ProductPlan &plan) { return obstacleTo(dot, plan).empty(); }) ||
        dot->hasAttr(tile::warpLocal))
      return success();
    if (std::string obstacle = obstacleOf(dot); dot->hasAttr(tile::warpgroups))
      return dot.emitError("cannot be computed as its attributes say: ") << obstacle;
    else if (onTensorCores(dot))
      dot.emitRemark("is not computed by warpgroups (wgmma): ") << obstacle;
    return success();
  }

  /// Returns what prevents the plan that `dot` asks for or, without attributes, all plans.
  std::string obstacleOf(tile::DotOp dot) const {
    if (std::string obstacle = obstacleToWarpgroups(dot); !obstacle.empty())
      return obstacle;
    const MmaShape shape = shapeOf(dot);
    if (!dot->hasAttr(tile::warpgroups) && shape.m % sm::kRowsPerWarpgroup && shape.n % sm::kRowsPerWarpgroup)
      return llvm::formatv("neither {0} rows nor {1} columns are a multiple of {2}", shape.m, shape.n,
                           sm::kRowsPerWarpgroup);
    auto asked = llvm::find_if(all_, [&](const ProductPlan &plan) { return agreesWith(plan, dot); });
    if (asked == all_.end())
      return "the module has other warpgroups";
    std::string obstacle = obstacleTo(dot, *asked);
    return obstacle.empty() ? "dots that are tied to this one need another orientation" : obstacle;
  }

  /// Tries all combinations of plans.
  void choose() {
    constexpr int64_t maxCombinations = 4096;
    int64_t combinations = 1;
    for (const auto &[group, possible] : possible_) {
      plans_[group] = possible.front();
      combinations = std::min<int64_t>(combinations * possible.size(), maxCombinations + 1);
    }
    if (combinations > maxCombinations)
      return;
    GroupPlans tried = plans_;
    double least = costOf(dots_, groups_, plans_);
    for (int64_t number = 1; number < combinations; ++number) {
      int64_t rest = number;
      for (const auto &[group, possible] : possible_) {
        tried[group] = possible[rest % possible.size()];
        rest /= possible.size();
      }
      if (double cost = costOf(dots_, groups_, tried); cost < least) {
        least = cost;
        plans_ = tried;
      }
    }
  }

  void write(tile::DotOp dot) {
    const ProductPlan plan = plans_.lookup(groups_.of(dot.getResult()));
    if (!obstacleTo(dot, plan).empty())
      return;
    Builder b(dot.getContext());
    dot->setAttr(tile::flipped, b.getBoolAttr(plan.flipped));
    dot->setAttr(tile::warpgroups, b.getDenseI64ArrayAttr({plan.rows, plan.columns}));
  }

  func::FuncOp function_;
  ProductGroups groups_;
  SmallVector<ProductPlan> all_;
  SmallVector<tile::DotOp> dots_;
  SmallVector<std::pair<Value, SmallVector<ProductPlan>>> possible_;
  GroupPlans plans_;
};

struct PlanProducts : cuda::impl::PlanProductsBase<PlanProducts> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    explainExactDots(module);
    const int64_t warps = tile::setting(module, "tile.num_warps", defaultWarps);
    if (!tile::wantsRoles(module) || warps % sm::kWarpsPerWarpgroup)
      return;
    if (tile::isOn(module, tile::hasTensorMemory))
      return planTensorMemory(module, warps);
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(ProductPlanning(function, warps / sm::kWarpsPerWarpgroup).run()))
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
