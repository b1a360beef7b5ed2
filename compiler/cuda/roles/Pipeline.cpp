// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/Passes.h"

#include "mlir/Pass/PassManager.h"

void tegula::cuda::buildRolesPipeline(mlir::OpPassManager &passes) {
  passes.addPass(createPlanRoles());
  passes.addPass(createSplitRoles());
  passes.addPass(createPlanSteps());
  passes.addPass(createExchangeTiles());
  passes.addPass(createPipelineLoops());
  passes.addPass(createAddByTma());
  passes.addPass(createCheckProgress());
}
