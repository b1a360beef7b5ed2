// SPDX-License-Identifier: MIT
// The choice of an element order, row- or column-major, for each matrix.
#pragma once

#include "compiler/cpu/TileOrder.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace tegula::cpu {

/// A dot whose result has at most this many rows, or columns, reads the other factor about once.
inline constexpr int64_t kFewRows = 16;

/// An operand of a dot along which vectors run, and the order that its buffer needs for that.
struct VectorOperand {
  mlir::OpOperand *operand;
  Order required;
};
/// Returns the vector operands of `dot`, if the dot's result has the order `result`. They are both factors if the dot
/// has the attribute `tile.along_depth`, and otherwise one of them.
llvm::SmallVector<VectorOperand, 2> vectorOperands(tile::DotOp dot, Order result);

/// Chooses the orders of all matrices of `function` together: the cheapest of all assignments. Marks dots that are
/// cheapest along their depth. The entry of a load that only dots use has no meaning, because the load gets the order
/// that each dot needs.
llvm::DenseMap<mlir::Value, Order> chooseOrders(mlir::func::FuncOp function);

} // namespace tegula::cpu
