// SPDX-License-Identifier: MIT
#include "compiler/cuda/layouts/Passes.h"

#include "mlir/Pass/PassManager.h"

void tegula::cuda::buildLayoutsPipeline(mlir::OpPassManager &passes) {
  passes.addPass(createPlanProducts());
  passes.addPass(createWidenProducts());
  passes.addPass(createAssignLayouts());
  passes.addPass(createDeferReductions());
}
