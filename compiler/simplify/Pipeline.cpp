// SPDX-License-Identifier: MIT
#include "compiler/simplify/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

void tegula::simplify::buildSimplifyPipeline(mlir::OpPassManager &passes) {
  passes.addPass(createDecomposeSoftmax());
  // After the softmax has become exponentials: their factors fold with the scale of the scores.
  passes.addPass(createBase2Exponentials());
  passes.addPass(createGuardDivision());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
}
