// SPDX-License-Identifier: MIT
// Which elements of a tile can reach memory: the others are padding.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace tegula::debug {

/// An axis of the tile that a store writes.
using StoredAxis = std::pair<mlir::Operation *, unsigned>;

/// The coordinates along one axis of a tile that can change memory: those that a store writes inside its view.
struct AxisUse {
  bool all = false; ///< True if elements along the axis are combined, or if it is not known where they go.
  llvm::SetVector<StoredAxis> stores;

  /// Adds the coordinates of `other`. Returns true if that changes this.
  bool add(const AxisUse &other);
};

/// Follows each axis of each tile of floats from its definition to the stores that write it.
class StoredElements {
public:
  explicit StoredElements(mlir::func::FuncOp function);

  /// Returns the use of one axis of a tile.
  const AxisUse &along(mlir::Value tile, unsigned axis) { return uses_[{tile, axis}]; }

private:
  /// Adds to the uses of the operands of `op` what follows from its results.
  void visit(mlir::Operation *op);
  /// Lets `axis` of `operand` have the uses of `ofResult` of `result`.
  void follow(mlir::Value operand, unsigned axis, mlir::Value result, unsigned ofResult);
  /// Lets all axes of `operand` have the uses of the same axes of `result`.
  void followAll(mlir::Value operand, mlir::Value result);
  void needAll(mlir::Value operand, unsigned axis);
  void needAll(mlir::Value operand);
  void add(mlir::Value operand, unsigned axis, const AxisUse &use);

  llvm::DenseMap<std::pair<mlir::Value, unsigned>, AxisUse> uses_;
  bool changed_ = false;
};

} // namespace tegula::debug
