// SPDX-License-Identifier: MIT
// The decision how warpgroups compute the dots of a function.
#pragma once

#include "compiler/cuda/layouts/analysis/ProductCost.h"

#include "mlir/IR/BuiltinOps.h"

namespace tegula::cuda {

/// Returns the number of warpgroups that compute the dots of a module; 0 if single warps compute all of them.
int64_t warpgroupsFor(mlir::ModuleOp module);

/// Returns true if `plan` is what the attributes of `dot` say, as far as it has any.
bool agreesWith(const ProductPlan &plan, tile::DotOp dot);

/// Dots whose results have one plan, because tiles tie them together.
struct DotGroup {
  mlir::Value tile;                        ///< Stands for the group.
  llvm::SmallVector<tile::DotOp> dots;     ///< All dots.
  llvm::SmallVector<tile::DotOp> able;     ///< Dots that warpgroups may compute.
  llvm::SmallVector<ProductPlan> possible; ///< Plans in which warpgroups compute at least one of them.
};

/// The groups of a function, and the combination of their plans that costs least.
class ProductPlanning {
public:
  ProductPlanning(mlir::func::FuncOp function, int64_t warpgroups);

  /// Returns all plans for the warpgroups: those that are not flipped first, and those along the rows first.
  llvm::ArrayRef<ProductPlan> plans() const { return plans_; }
  llvm::ArrayRef<DotGroup> groups() const { return groups_; }
  /// Returns the group of a dot of the function.
  const DotGroup &groupOf(tile::DotOp dot) const;
  /// Returns the plan of a group that has a possible one.
  ProductPlan chosen(const DotGroup &group) const { return chosen_.lookup(group.tile); }
  /// Returns why the chosen plan leaves `dot` to single warps; empty if warpgroups compute it.
  std::string obstacleOf(tile::DotOp dot) const;
  /// Returns the modelled cost of the function if `group` had this plan, and all other groups had the chosen ones.
  double costWith(const DotGroup &group, const ProductPlan &plan) const;

private:
  std::string obstacleToAll(tile::DotOp dot) const;
  void collect(mlir::func::FuncOp function);
  void choose();

  ProductGroups tied_;
  llvm::SmallVector<ProductPlan> plans_;
  llvm::SmallVector<DotGroup> groups_;
  llvm::SmallVector<tile::DotOp> dots_; ///< The able dots of all groups that have a possible plan.
  GroupPlans chosen_;
};

} // namespace tegula::cuda
