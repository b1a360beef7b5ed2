// SPDX-License-Identifier: MIT
// Where the elements of a view are: as scalars of a program that a target emits, and as a position in the tensor.
#pragma once

#include "mlir/IR/Value.h"
#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tegula::tile {

class Scalars;

/// Describes a view by scalars of the program that a target emits. The element at `position` is at
/// base + unit * (sum of position * stride).
struct ViewParts {
  mlir::Value base;                                 ///< The place of the first element, of the type of the target.
  int64_t unit = 1;                                 ///< The size of an element, as the target counts places.
  llvm::SmallVector<mlir::Value, 5> sizes, strides; ///< index; strides count elements.

  /// Moves the base by a number of elements, an index.
  void advance(Scalars &s, mlir::Value elements);
};

/// A position in a tensor, for hardware that takes an index for each dimension.
struct TensorPosition {
  llvm::SmallVector<mlir::Value> indices; ///< Scalars of the program, the innermost dimension first.
  /// The rows of the tensor that the view has, if not all; otherwise null. The row, which is the second index, then
  /// counts from `begin`. `clipRows` says which rows these are.
  mlir::Value begin = {}, end = {};
};

/// Returns where `position` of `view` is in its tensor; nothing if indices cannot say it.
std::optional<TensorPosition> positionInTensor(mlir::Value view, mlir::ValueRange position);

/// The rows from `first` on, below `end`, of a tensor.
struct RowRange {
  mlir::Value first, end;
};

/// Returns the rows of `begin` to `end` that a tensor of `size` rows has. All are of type index. Whatever the numbers
/// are, 0 <= first <= end <= size. There are no rows if `begin` is negative.
RowRange clipRows(Scalars &s, mlir::Value begin, mlir::Value end, mlir::Value size);

} // namespace tegula::tile
