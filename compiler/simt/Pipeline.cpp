// SPDX-License-Identifier: MIT
#include "compiler/simt/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"

namespace tegula::simt {

void buildCallsPipeline(mlir::OpPassManager &passes) { passes.addPass(createCallExecutor()); }

} // namespace tegula::simt
