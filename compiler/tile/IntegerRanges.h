// SPDX-License-Identifier: MIT
// Bounds of integers.
#pragma once

#include "mlir/IR/Value.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/DenseMap.h"

namespace tegula::tile {

/// Finds the smallest and the largest number that integers can be, each when it is asked for. Arithmetic gives the
/// bounds of its results by MLIR's InferIntRangeInterface. A sum that may wrap around has no bounds.
class IntegerRanges {
public:
  /// Returns bounds of an integer, or of all elements of a tile of integers. The positions of loops around `value` must
  /// not wrap around.
  mlir::ConstantIntRanges of(mlir::Value value);

private:
  mlir::ConstantIntRanges compute(mlir::Value value);
  mlir::ConstantIntRanges ofPosition(mlir::BlockArgument argument);
  mlir::ConstantIntRanges ofArithmetic(mlir::Value result);

  llvm::DenseMap<mlir::Value, mlir::ConstantIntRanges> known_;
};

/// Returns the number of bits of an integer or `index`, or of the elements of a tile of them; 0 for other types.
unsigned integerWidth(mlir::Type type);

} // namespace tegula::tile
