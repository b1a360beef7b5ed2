// SPDX-License-Identifier: MIT
// What values are computed from.
#pragma once

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"

namespace tegula::sm {

/// Returns the ops that `values` are computed from, operands first. With `block`, only ops of that block.
llvm::SetVector<mlir::Operation *> sliceOf(mlir::ValueRange values, mlir::Block *block = nullptr);

/// Returns true if `op` can be repeated elsewhere at little cost: it has no effects, and computes no tile.
bool isPureScalar(mlir::Operation *op);

} // namespace tegula::sm
