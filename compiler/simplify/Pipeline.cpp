// SPDX-License-Identifier: MIT
#include "compiler/simplify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace tegula::simplify {

void buildSimplifyPipeline(mlir::OpPassManager &passes) {
  passes.addPass(createGuardLoops());
  passes.addPass(createDecomposeSoftmax());
  passes.addPass(createBase2Exponentials());
  passes.addPass(createGuardDivision());
  passes.addPass(createGuardShifts());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
}

void buildCudaSimplifyPipeline(mlir::OpPassManager &passes) {
  passes.addPass(createGuardLoops());
  passes.addPass(createHoistGathers());
  passes.addPass(createLoadAffineGathers());
  passes.addNestedPass<mlir::func::FuncOp>(createFuseMultiplyAdds());
  passes.addPass(createLimitRows());
  passes.addPass(createBoundaryMasks());
  passes.addNestedPass<mlir::func::FuncOp>(createScaleAfterMasks());
  passes.addPass(createLinearPositions());
  passes.addPass(createBlockRandom());
  passes.addPass(createDecomposeSoftmax({.roundProbabilities = true}));
  passes.addPass(createBase2Exponentials());
  passes.addPass(createReciprocalDivisors());
  passes.addPass(createGuardDivision());
  passes.addPass(createGuardShifts());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
}

} // namespace tegula::simplify
