// SPDX-License-Identifier: MIT
// The passes of the phase `threads`. Keep in the order in which they run.
#ifndef TEGULA_CUDA_THREADS_PASSES
#define TEGULA_CUDA_THREADS_PASSES

include "mlir/Pass/PassBase.td"

def LowerToThreads : Pass<"lower-to-threads", "::mlir::ModuleOp"> {
  let summary = "turns the program on tiles into the program of one thread";
  let description = [{
    A tile becomes one value per register, a view a base address with sizes and strides, a shared buffer an address. The
    arguments of the function become 64-bit values: for each tensor its address, shape and strides, for each scalar one
    value with the scalar in the low bytes. If the function uses TMA, tensor maps come before these values, and one
    value after them says which maps the runtime could make.
  }];
  let dependentDialects = ["::tegula::sm::SmDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::func::FuncDialect"];
}

#endif
