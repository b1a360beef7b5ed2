// SPDX-License-Identifier: MIT
// Inline assembly as calls of the executor.
#pragma once

#include "compiler/simt/Calls.h"

namespace tegula::simt {

/// Replaces the op by calls at the builder of `calls`; fails, with an error, if it has an unknown statement.
llvm::LogicalResult callAssembly(Calls &calls, mlir::LLVM::InlineAsmOp op);

/// Inserts calls that look at each register before an instruction reads it that may still be an accumulator of a
/// product in flight: whatever comes from one other than through a wait.
void checkAccumulators(Calls &calls, mlir::LLVM::LLVMFuncOp kernel);

} // namespace tegula::simt
