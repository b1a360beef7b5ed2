// SPDX-License-Identifier: MIT
#include "compiler/cpu/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace tegula::cpu {

void buildPlanPipeline(mlir::OpPassManager &passes) { passes.addNestedPass<mlir::func::FuncOp>(createPlanBuffers()); }

void buildLoopsPipeline(mlir::OpPassManager &passes) {
  passes.addPass(createLowerToLoops());
  passes.addPass(createApproximateMath());
  // The lowering emits each constant and each address again at each use.
  passes.addPass(mlir::createCSEPass());
}

} // namespace tegula::cpu
