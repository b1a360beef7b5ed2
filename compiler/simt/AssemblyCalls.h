// SPDX-License-Identifier: MIT
// Replaces inline assembly by calls of the executor.
#pragma once

#include "compiler/simt/Calls.h"

namespace tegula::simt {

/// Replaces the op by calls at the builder of `calls`. Fails with an error if the op contains an unknown statement.
llvm::LogicalResult callAssembly(Calls &calls, mlir::LLVM::InlineAsmOp op);

/// Inserts calls that check registers before an instruction reads them. Checked are f32 registers that may hold an
/// accumulator of a wgmma in flight: they come from one, but not through a wait.
void checkAccumulators(Calls &calls, mlir::LLVM::LLVMFuncOp kernel);

} // namespace tegula::simt
