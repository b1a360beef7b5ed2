// SPDX-License-Identifier: MIT
#include "compiler/cuda/Passes.h"

#include "compiler/sm/Sm.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace tegula::cuda {
#define GEN_PASS_REGISTRATION
#include "compiler/cuda/Passes.h.inc"

void registerPasses() { registerCudaPasses(); }

void buildLayoutsPipeline(mlir::OpPassManager &passes) {
  passes.addPass(createAssignLayouts());
  passes.addPass(createDeferReductions());
}

void buildSharedPipeline(mlir::OpPassManager &passes) {
  passes.addPass(createSpecializeWarps());
  passes.addPass(createOverlapMmas());
  passes.addPass(createReadEarly());
  passes.addPass(createPipelineCopies());
  passes.addPass(createKeepLhsInRegisters());
  passes.addPass(createAllocateShared());
  passes.addPass(createIssueLoadsEarly());
  passes.addPass(createArrangeAdditions());
  passes.addPass(createPlanShared());
  passes.addPass(createInsertBarriers());
  passes.addPass(createEndWarpgroupsEarly());
}

void buildThreadsPipeline(mlir::OpPassManager &passes) {
  passes.addPass(createLowerToThreads());
  passes.addPass(mlir::createCSEPass());
}

} // namespace tegula::cuda
