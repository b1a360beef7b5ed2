// SPDX-License-Identifier: MIT
// How the warps of a block divide a matrix product among themselves.
#pragma once

#include "compiler/sm/Sm.h"

namespace tegula::cuda {

/// Warps along the rows (m) and the columns (n) of a product's result.
struct WarpGrid {
  int64_t m = 1;
  int64_t n = 1;
};

/// The sizes of a product: [m, k] times [k, n].
struct MmaShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

MmaShape shapeOf(tile::DotOp dot);
/// Whether tensor cores compute it; otherwise threads do, in f32.
bool onTensorCores(tile::DotOp dot);
/// Whether whole warpgroups compute it on this grid: sm.wgmma. Only modules with roles want that, and not of products
/// with `tile.warp_local`.
bool onWarpgroups(tile::DotOp dot, WarpGrid grid);

sm::LayoutAttr accumulatorLayout(tile::DotOp dot, WarpGrid grid);
/// The layout in which `dot` takes its lhs from registers.
sm::LayoutAttr operandLayout(tile::DotOp dot, WarpGrid grid);
/// Rows and columns that the warps' fragments cover, the padding included.
MmaShape covered(tile::DotOp dot, WarpGrid grid);

/// The grid that is fastest by a model of shared-memory traffic and tensor-core time. `lhs` is the layout in which the
/// lhs already is, if any: a grid that can take it from registers saves reading it.
WarpGrid chooseGrid(tile::DotOp dot, int64_t warps, sm::LayoutAttr lhs);
/// The grid whose accumulators have `layout`, if there is one.
std::optional<WarpGrid> gridOf(tile::DotOp dot, int64_t warps, sm::LayoutAttr layout);

} // namespace tegula::cuda
