// SPDX-License-Identifier: MIT
// Products, loads and stores in terms of shared memory.
#pragma once

#include "compiler/cuda/LayoutMap.h"
#include "compiler/cuda/WarpGrid.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tegula::cuda {

/// A product and the grid of warps that computes it.
struct PlannedDot {
  tile::DotOp dot;
  WarpGrid grid;
};

/// Replaces products by `sm.mma`, and their operands by `sm.load_shared`, `sm.to_shared` or `sm.read`. All tiles have
/// their layouts, and every operand is in the layout that it must be in.
void lowerDots(llvm::ArrayRef<PlannedDot> dots);

/// A tile of 16-bit numbers as the tensor cores of warpgroups take it from registers: two to a number.
mlir::Value packed(mlir::ImplicitLocOpBuilder &b, mlir::Value tile);

/// Large loads outside loops and large stores of fragments go through shared memory, where they are coalesced.
void lowerLoadsAndStores(mlir::func::FuncOp function);

} // namespace tegula::cuda
