// SPDX-License-Identifier: MIT
// Dots whose accumulators are in tensor memory while a loop adds to them.
#pragma once

#include "compiler/sm/Sm.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <string>

namespace tegula::cuda {

/// Returns why the accumulators of `dot` cannot be in tensor memory, and what would change it; empty if they can.
/// `warps` warps read them.
std::string obstacleToTensorMemory(tile::DotOp dot, int64_t warps);

/// The accumulators of a product in tensor memory, after the loop that adds to them.
struct TensorSums {
  mlir::Value ofLoop; ///< The result of the loop.
  mlir::Value read;   ///< The same, read from tensor memory.
};

/// Replaces `dot`, of which the operands are in shared memory, by an `sm.tcgen05`. Accumulators begin before the loop
/// and are read after it. The caller replaces the loop's result.
TensorSums accumulateInTensorMemory(tile::DotOp dot, mlir::Value lhs, mlir::Value rhs, bool transposesLhs,
                                    bool transposesRhs);

} // namespace tegula::cuda
