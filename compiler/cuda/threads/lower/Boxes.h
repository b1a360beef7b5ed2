// SPDX-License-Identifier: MIT
// TMA copies of tiles between tensors and shared memory.
#pragma once

#include "compiler/cuda/threads/Threads.h"

namespace tegula::cuda {

/// Returns true if `column` is provably one at which a box may begin: a multiple of 16 bytes.
bool startsAtBox(mlir::TypedValue<tile::ViewType> view, mlir::Value column);
/// The coordinates of a box in its tensor: i32, the innermost dimension first.
using BoxCoordinates = llvm::SmallVector<mlir::Value>;
/// Returns the coordinates of the boxes of a producer load, which may be read from a table of pages.
llvm::SmallVector<BoxCoordinates> boxesOf(Threads &t, sm::ProducerLoadOp load);
/// Starts the TMA copies of a producer load to its slot. Their bytes count at the mbarrier `full`. One lane calls it.
void loadBoxes(Threads &t, sm::ProducerLoadOp load, llvm::ArrayRef<BoxCoordinates> boxes, SharedPlace slot,
               mlir::Value full);
/// Returns the coordinates of a position in the tensor of the view, as a box has them: i32, the innermost dimension
/// first. They are clamped unless a test has shown that they need not be.
llvm::SmallVector<mlir::Value> coordinatesOf(Threads &t, mlir::Value view, mlir::ValueRange position,
                                             bool areTested = false);

} // namespace tegula::cuda
