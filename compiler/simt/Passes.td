// SPDX-License-Identifier: MIT
#ifndef TEGULA_SIMT_PASSES
#define TEGULA_SIMT_PASSES

include "mlir/Pass/PassBase.td"

def CallExecutor : Pass<"call-executor", "::mlir::ModuleOp"> {
  let summary = "replaces GPU instructions by calls of the executor";
  let description = [{
    Takes one kernel in the LLVM and NVVM dialects. Every op of the NVVM dialect, every inline assembly and every
    intrinsic of the GPU becomes a call through the table `SimtOps`. An unknown instruction is an error, so that no
    instruction escapes the executor's checks. The kernel becomes a `SimtKernel`. `KERNEL.sites` is a string with one
    line for each instruction that accesses memory or orders accesses.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif
