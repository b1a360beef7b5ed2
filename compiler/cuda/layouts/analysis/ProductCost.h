// SPDX-License-Identifier: MIT
// The modelled cost of MMAs of warpgroups.
#pragma once

#include "compiler/cuda/layouts/analysis/ProductGroups.h"
#include "compiler/cuda/layouts/analysis/WarpGrid.h"

#include <optional>

namespace tegula::cuda {

/// How warpgroups compute a dot: as its transpose or not, and how many of them are along the rows and the columns of
/// what they compute.
struct ProductPlan {
  bool flipped = false;
  int64_t rows = 1, columns = 1;

  bool operator==(const ProductPlan &) const = default;
};

/// Returns why no plan computes the product by `sm.wgmma`, and what would change it; empty if its types allow that.
std::string obstacleToWarpgroups(const Product &product);
/// Returns why this plan does not compute the product by `sm.wgmma`; empty if it does. The types of the product must
/// allow it.
std::string obstacleTo(const Product &product, const ProductPlan &plan);
/// Returns the elements of the accumulators of all threads in this plan, with the columns of the padding.
int64_t accumulatorsOf(const Product &product, const ProductPlan &plan);

/// The plans of all groups that have a dot for warpgroups. A group without a plan has a layout that is not known yet.
using GroupPlans = llvm::DenseMap<mlir::Value, ProductPlan>;

/// Returns the modelled cost in clocks of one multiprocessor. `dots` are the dots that warpgroups may compute.
double costOf(llvm::ArrayRef<tile::DotOp> dots, const ProductGroups &groups, const GroupPlans &plans);

} // namespace tegula::cuda
