// SPDX-License-Identifier: MIT
// TMA copies of tiles between tensors and shared memory.
#pragma once

#include "compiler/cuda/threads/Threads.h"

namespace tegula::cuda {

/// Returns true if `column` is provably one at which a box may begin: a multiple of 16 bytes.
bool startsAtBox(mlir::TypedValue<tile::ViewType> view, mlir::Value column);
/// The coordinates of a box in its tensor: i32, the innermost dimension first.
using BoxCoordinates = llvm::SmallVector<mlir::Value>;
/// Returns the coordinates of the boxes of a panel, which may be read from a table of pages. Outside of an `sm.elect`,
/// lanes share them: lane i gets those of the boxes i, 32 + i, 64 + i, ...
llvm::SmallVector<BoxCoordinates> boxesOf(Threads &t, sm::ProducerLoadOp load);
/// Starts the TMA copies of a producer load to its slot, by one lane. Their bytes count at the mbarrier `full`. `boxes`
/// is what `boxesOf` has returned.
void loadBoxes(Threads &t, sm::ProducerLoadOp load, llvm::ArrayRef<BoxCoordinates> boxes, SharedPlace slot,
               mlir::Value full);
/// Returns the coordinates of a position in the tensor of the view, as a box has them: i32, the innermost dimension
/// first. They are clamped unless a test has shown that they need not be. With `row` (i32), they are those of the
/// element that many rows further.
llvm::SmallVector<mlir::Value> coordinatesOf(Threads &t, mlir::Value view, mlir::ValueRange position,
                                             bool areTested = false, mlir::Value row = {});

} // namespace tegula::cuda
