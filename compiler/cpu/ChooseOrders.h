// SPDX-License-Identifier: MIT
// In which order the elements of each matrix lie.
#pragma once

#include "compiler/cpu/TileOrder.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace tegula::cpu {

/// Trips that a loop counts as when nothing is known about it.
inline constexpr double kTripsOfALoop = 16;

/// How often `op` runs, by the loops around it.
double frequency(mlir::Operation *op);

/// The operand that vectors run along, and the order that its buffer needs for that.
struct VectorOperand {
  mlir::OpOperand *operand;
  Order required;
};
VectorOperand vectorOperand(tile::DotOp dot, Order result);

/// The order of every matrix of `function`, chosen together: the cheapest of all assignments. A load that only feeds
/// products is free to lie as each of them needs it, so its entry here does not count.
llvm::DenseMap<mlir::Value, Order> chooseOrders(mlir::func::FuncOp function);

} // namespace tegula::cpu
