// SPDX-License-Identifier: MIT
// Replaces inline assembly by calls of the executor.
#pragma once

#include "compiler/simt/Calls.h"

namespace tegula::simt {

/// Replaces the op by calls at the builder of `calls`. Fails with an error if the op contains an unknown statement.
llvm::LogicalResult callAssembly(Calls &calls, mlir::LLVM::InlineAsmOp op);

/// Inserts a call before each read of an f32 register that may hold an accumulator of a wgmma in flight: one that comes
/// from a wgmma, but not through a wait.
void checkAccumulators(Calls &calls, mlir::LLVM::LLVMFuncOp kernel);

} // namespace tegula::simt
