// SPDX-License-Identifier: MIT
#include "compiler/cuda/threads/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

void tegula::cuda::buildThreadsPipeline(mlir::OpPassManager &passes) {
  passes.addPass(createLowerToThreads());
  passes.addPass(mlir::createCSEPass());
}
