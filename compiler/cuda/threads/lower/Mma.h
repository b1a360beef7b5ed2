// SPDX-License-Identifier: MIT
// The interface between the two ways to lower sm.mma, with and without tensor cores.
#pragma once

#include "compiler/cuda/threads/lower/SharedTile.h"

namespace tegula::cuda {

/// Returns the registers of the operand `acc`, or zeros if there is none.
llvm::SmallVector<mlir::Value> initialSums(Threads &t, sm::MmaOp op);

/// Lowers `op` without tensor cores, to f32 fused multiply-adds on operands of any float type in shared memory.
void multiplyExactly(Threads &t, sm::MmaOp op);

} // namespace tegula::cuda
