// SPDX-License-Identifier: MIT
#include "compiler/cuda/threads/Passes.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace tegula::cuda {
#define GEN_PASS_REGISTRATION
#include "compiler/cuda/threads/Passes.h.inc"

void registerThreadsPasses() { registerCudaThreadsPasses(); }

void buildThreadsPipeline(mlir::OpPassManager &passes) {
  passes.addPass(createLowerToThreads());
  passes.addPass(mlir::createCSEPass());
}

} // namespace tegula::cuda
