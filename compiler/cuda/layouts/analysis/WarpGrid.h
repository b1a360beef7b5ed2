// SPDX-License-Identifier: MIT
// The division of an MMA among the warps of a thread block.
#pragma once

#include "compiler/sm/Sm.h"

namespace tegula::cuda {

/// The number of warps along the rows (m) and the columns (n) of an MMA's result.
struct WarpGrid {
  int64_t m = 1;
  int64_t n = 1;
};

/// The sizes of an MMA: [m, k] times [k, n].
struct MmaShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

MmaShape shapeOf(tile::DotOp dot);
/// Returns true if tensor cores compute `dot`. Otherwise threads multiply in f32.
bool onTensorCores(tile::DotOp dot);
/// Returns true if whole warpgroups compute `dot` on this grid, by `sm.wgmma`. This needs a module with `tile.roles =
/// "load"` and a dot without `tile.warp_local`.
bool onWarpgroups(tile::DotOp dot, WarpGrid grid);

sm::LayoutAttr accumulatorLayout(tile::DotOp dot, WarpGrid grid);
/// Returns the layout in which `dot` takes its lhs from registers.
sm::LayoutAttr operandLayout(tile::DotOp dot, WarpGrid grid);
/// Returns the sizes of `dot`, rounded up to what the fragments of the warps cover.
MmaShape covered(tile::DotOp dot, WarpGrid grid);

/// Returns the fastest grid by a model of shared-memory traffic and tensor-core time. `lhs` is the layout that the lhs
/// has already, or null. A grid that takes the lhs from registers in this layout saves reading it from shared memory.
WarpGrid chooseGrid(tile::DotOp dot, int64_t warps, sm::LayoutAttr lhs);
/// Returns the grid whose accumulators have `layout`, or none.
std::optional<WarpGrid> gridOf(tile::DotOp dot, int64_t warps, sm::LayoutAttr layout);

} // namespace tegula::cuda
