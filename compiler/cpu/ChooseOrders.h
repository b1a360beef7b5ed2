// SPDX-License-Identifier: MIT
// The choice of an element order, row- or column-major, for each matrix.
#pragma once

#include "compiler/cpu/TileOrder.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace tegula::cpu {

/// The number of iterations that a loop counts as, because the real number is not known.
inline constexpr double kTripsOfALoop = 16;

/// Returns how often `op` runs, judged by the loops around it.
double frequency(mlir::Operation *op);

/// The operand of a dot along which vectors run, and the order that its buffer needs for that.
struct VectorOperand {
  mlir::OpOperand *operand;
  Order required;
};
/// Returns the vector operand of `dot`, if the dot's result has the order `result`.
VectorOperand vectorOperand(tile::DotOp dot, Order result);

/// Chooses the orders of all matrices of `function` together: the cheapest of all assignments. The entry of a load that
/// only dots use has no meaning, because the load gets the order that each dot needs.
llvm::DenseMap<mlir::Value, Order> chooseOrders(mlir::func::FuncOp function);

} // namespace tegula::cpu
