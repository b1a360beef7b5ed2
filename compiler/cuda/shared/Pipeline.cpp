// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/Passes.h"

#include "mlir/Pass/PassManager.h"

void tegula::cuda::buildSharedPipeline(mlir::OpPassManager &passes) {
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
