// SPDX-License-Identifier: MIT
#include "compiler/cuda/layouts/Passes.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace tegula::cuda {
#define GEN_PASS_REGISTRATION
#include "compiler/cuda/layouts/Passes.h.inc"

void registerLayoutsPasses() { registerCudaLayoutsPasses(); }

void buildLayoutsPipeline(mlir::OpPassManager &passes) {
  passes.addPass(createPlanProducts());
  passes.addPass(createWidenProducts());
  passes.addPass(createAssignLayouts());
  passes.addPass(createDeferReductions());
}

} // namespace tegula::cuda
