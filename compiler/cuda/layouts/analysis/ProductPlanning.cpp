// SPDX-License-Identifier: MIT
#include "compiler/cuda/layouts/analysis/ProductPlanning.h"

#include "compiler/tile/Settings.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tegula::cuda {

int64_t warpgroupsFor(ModuleOp module) {
  const int64_t warps = tile::scheduleOf(module).num_warps;
  return tile::wantsRoles(module) && warps % sm::kWarpsPerWarpgroup == 0 ? warps / sm::kWarpsPerWarpgroup : 0;
}

bool agreesWith(const ProductPlan &plan, tile::DotOp dot) {
  auto flipped = dot->getAttrOfType<BoolAttr>(tile::flipped);
  auto split = dot->getAttrOfType<DenseI64ArrayAttr>(tile::warpgroups);
  return (!flipped || flipped.getValue() == plan.flipped) &&
         (!split || (split[0] == plan.rows && split[1] == plan.columns));
}

static SmallVector<ProductPlan> plansOf(int64_t warpgroups) {
  SmallVector<ProductPlan> plans;
  for (bool flipped : {false, true})
    for (int64_t rows = warpgroups; rows >= 1; --rows)
      if (warpgroups % rows == 0)
        plans.push_back({flipped, rows, warpgroups / rows});
  return plans;
}

static bool isPossible(const ProductPlan &plan, const DotGroup &group) {
  return (!plan.flipped || group.able.size() == group.dots.size()) &&
         llvm::all_of(group.able, [&](tile::DotOp dot) { return agreesWith(plan, dot); }) &&
         llvm::any_of(group.able, [&](tile::DotOp dot) { return obstacleTo(dot, plan).empty(); });
}

ProductPlanning::ProductPlanning(func::FuncOp function, int64_t warpgroups)
    : tied_(function), plans_(plansOf(warpgroups)) {
  collect(function);
  choose();
}

/// Finds the groups and the plans that they can have.
void ProductPlanning::collect(func::FuncOp function) {
  llvm::MapVector<Value, SmallVector<tile::DotOp>> members;
  function.walk([&](tile::DotOp dot) { members[tied_.of(dot.getResult())].push_back(dot); });
  for (auto &[tile, dots] : members) {
    DotGroup &group = groups_.emplace_back(DotGroup{tile, dots, {}, {}});
    auto isAble = [](tile::DotOp dot) { return obstacleToWarpgroups(dot).empty(); };
    llvm::copy_if(group.dots, std::back_inserter(group.able), isAble);
    llvm::copy_if(plans_, std::back_inserter(group.possible),
                  [&](const ProductPlan &plan) { return isPossible(plan, group); });
    if (!group.possible.empty())
      llvm::append_range(dots_, group.able);
  }
}

/// Tries all combinations of plans.
void ProductPlanning::choose() {
  constexpr int64_t maxCombinations = 4096;
  auto planned = llvm::make_filter_range(groups_, [](const DotGroup &group) { return !group.possible.empty(); });
  int64_t combinations = 1;
  for (const DotGroup &group : planned) {
    chosen_[group.tile] = group.possible.front();
    combinations = std::min<int64_t>(combinations * group.possible.size(), maxCombinations + 1);
  }
  if (combinations > maxCombinations)
    return;
  GroupPlans tried = chosen_;
  double least = costOf(dots_, tied_, chosen_);
  for (int64_t number = 1; number < combinations; ++number) {
    int64_t rest = number;
    for (const DotGroup &group : planned) {
      tried[group.tile] = group.possible[rest % group.possible.size()];
      rest /= group.possible.size();
    }
    if (double cost = costOf(dots_, tied_, tried); cost < least) {
      least = cost;
      chosen_ = tried;
    }
  }
}

const DotGroup &ProductPlanning::groupOf(tile::DotOp dot) const {
  const Value tile = tied_.of(dot.getResult());
  return *llvm::find_if(groups_, [&](const DotGroup &group) { return group.tile == tile; });
}

std::string ProductPlanning::obstacleOf(tile::DotOp dot) const {
  if (std::string obstacle = obstacleToWarpgroups(dot); !obstacle.empty())
    return obstacle;
  const DotGroup &group = groupOf(dot);
  return !group.possible.empty() && obstacleTo(dot, chosen(group)).empty() ? std::string() : obstacleToAll(dot);
}

/// Returns what prevents the plan that a dot with suitable types asks for or, without attributes, all plans. Of several
/// plans, the first one tells in which blocks of 64 rows are possible.
std::string ProductPlanning::obstacleToAll(tile::DotOp dot) const {
  const MmaShape shape = shapeOf(dot);
  auto hasBlocks = [&](bool flipped) { return (flipped ? shape.n : shape.m) % sm::kRowsPerWarpgroup == 0; };
  if (!dot->hasAttr(tile::warpgroups) && !hasBlocks(false) && !hasBlocks(true))
    return llvm::formatv("neither {0} rows nor {1} columns are a multiple of {2}", shape.m, shape.n,
                         sm::kRowsPerWarpgroup);
  auto asked = llvm::make_filter_range(plans_, [&](const ProductPlan &plan) { return agreesWith(plan, dot); });
  if (asked.empty())
    return "the module has other warpgroups";
  auto first = llvm::find_if(asked, [&](const ProductPlan &plan) { return hasBlocks(plan.flipped); });
  std::string obstacle = obstacleTo(dot, first == asked.end() ? *asked.begin() : *first);
  return obstacle.empty() ? "dots that are tied to this one need another orientation" : obstacle;
}

double ProductPlanning::costWith(const DotGroup &group, const ProductPlan &plan) const {
  GroupPlans plans = chosen_;
  plans[group.tile] = plan;
  return costOf(dots_, tied_, plans);
}

} // namespace tegula::cuda
