// SPDX-License-Identifier: MIT
// The division of an MMA among the warps of a thread block.
#pragma once

#include "compiler/cuda/layouts/analysis/Product.h"
#include "compiler/sm/Sm.h"

namespace tegula::cuda {

/// The number of warps along the rows (m) and the columns (n) of an MMA's result.
struct WarpGrid {
  int64_t m = 1;
  int64_t n = 1;
};

/// Returns true if whole warpgroups compute `dot`, by `sm.wgmma`: the module has `tile.roles = "load"`, and the dot has
/// `tile.warpgroups` but not `tile.warp_local`.
bool onWarpgroups(tile::DotOp dot);
/// Returns true if the accumulators of `dot` are in tensor memory, by `sm.tcgen05`: the module has
/// `tile.roles = "load"`, and the dot has `tile.in_tensor_memory`.
bool isInTensorMemory(tile::DotOp dot);
/// Returns true if a reduction along `axis` reads the elements of `value`, directly or after elementwise ops and
/// branches.
bool isReducedAlong(mlir::Value value, int64_t axis);

/// The columns of a block of accumulators.
constexpr int64_t kColumnsOfBlock = 16;
/// Returns true if warpgroups read the right operand of a dot from panels whose rows run along the columns of the
/// result. The dot multiplies by `rhs`, or with `transposes` by its transpose.
bool hasColumnsInRows(mlir::Value rhs, bool transposes);
/// Returns how many of the `n` columns of the result of such a dot each warpgroup computes. Warpgroups that divide the
/// columns of panels take whole panels or equal parts of one, so that the last one may compute padding.
int64_t columnsOfWarpgroup(mlir::Value rhs, bool transposes, int64_t n, int64_t warpgroups);
sm::LayoutAttr accumulatorLayout(tile::DotOp dot, WarpGrid grid);
/// Returns the layout in which `dot` takes its lhs from registers.
sm::LayoutAttr operandLayout(tile::DotOp dot, WarpGrid grid);
/// Returns the sizes of `dot`, rounded up to what the fragments of the warps cover.
MmaShape covered(tile::DotOp dot, WarpGrid grid);

/// Returns the grid that `tile.warpgroups` of `dot` prescribes, if warpgroups compute it. Otherwise returns the fastest
/// grid by a model of shared-memory traffic and tensor-core time. `lhs` is the layout that the lhs
/// has already, or null. A grid that takes the lhs from registers in this layout saves reading it from shared memory.
WarpGrid chooseGrid(tile::DotOp dot, int64_t warps, sm::LayoutAttr lhs);
/// Returns the grid whose accumulators have `layout`, or none.
std::optional<WarpGrid> gridOf(tile::DotOp dot, int64_t warps, sm::LayoutAttr layout);

} // namespace tegula::cuda
