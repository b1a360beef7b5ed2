// SPDX-License-Identifier: MIT
// What the ways to lower sm.mma share.
#pragma once

#include "compiler/cuda/SharedTile.h"

namespace tegula::cuda {

/// The registers of `acc`, or zeros.
llvm::SmallVector<mlir::Value> initialSums(Threads &t, sm::MmaOp op);

/// Without tensor cores: f32 fused multiply-adds on operands of any float type in shared memory.
void multiplyExactly(Threads &t, sm::MmaOp op);

} // namespace tegula::cuda
