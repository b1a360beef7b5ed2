// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/Passes.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace tegula::cuda {
#define GEN_PASS_REGISTRATION
#include "compiler/cuda/shared/Passes.h.inc"

void registerSharedPasses() { registerCudaSharedPasses(); }

void buildSharedPipeline(mlir::OpPassManager &passes) {
  passes.addPass(createPipelineCopies());
  passes.addPass(createKeepLhsInRegisters());
  passes.addPass(createAllocateShared());
  passes.addPass(createIssueLoadsEarly());
  passes.addPass(createDrawLate());
  passes.addPass(createArrangeAdditions());
  passes.addPass(createPlanShared());
  passes.addPass(createStoreByTma());
  passes.addPass(createInsertBarriers());
  passes.addPass(createExpandMeetings());
  passes.addPass(createEndWarpgroupsEarly());
  passes.addPass(createPlaceFences());
  passes.addPass(createCountWaits());
  passes.addPass(createElectLanes());
}

} // namespace tegula::cuda
