// SPDX-License-Identifier: MIT
// MMAs, loads and stores in terms of shared memory.
#pragma once

#include "compiler/cuda/layouts/analysis/LayoutMap.h"
#include "compiler/cuda/layouts/analysis/WarpGrid.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tegula::cuda {

/// A dot and the grid of warps that computes it.
struct PlannedDot {
  tile::DotOp dot;
  WarpGrid grid;
};

/// Replaces dots by `sm.mma` or `sm.wgmma`, and their operands by `sm.load_shared`, `sm.to_shared` or `sm.read`. All
/// tiles must have their layouts, and every operand must be in the layout that its op requires.
void lowerDots(llvm::ArrayRef<PlannedDot> dots);

/// Packs a tile of 16-bit elements as `sm.wgmma` takes it from registers: two elements in each 32-bit number.
mlir::Value packed(mlir::ImplicitLocOpBuilder &b, mlir::Value tile);

/// Transposes a matrix in registers. No element moves between threads, so the result has the permuted layout, if any.
mlir::Value transposed(mlir::ImplicitLocOpBuilder &b, mlir::Value tile);

/// Sends large loads outside loops, and large stores of fragments, through shared memory, so that accesses to global
/// memory are coalesced.
void lowerLoadsAndStores(mlir::func::FuncOp function);

} // namespace tegula::cuda
