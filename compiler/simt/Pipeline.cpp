// SPDX-License-Identifier: MIT
#include "compiler/simt/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace tegula::simt {
#define GEN_PASS_REGISTRATION
#include "compiler/simt/Passes.h.inc"

void registerPasses() { registerSimtPasses(); }

void buildCallsPipeline(mlir::OpPassManager &passes) { passes.addPass(createCallExecutor()); }

} // namespace tegula::simt
