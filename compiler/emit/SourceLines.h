// SPDX-License-Identifier: MIT
#pragma once

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace tegula::emit {

/// Gives the function and its operations the debug information that `.loc` directives need, and nothing else.
void keepSourceLines(mlir::LLVM::LLVMFuncOp function);

} // namespace tegula::emit
