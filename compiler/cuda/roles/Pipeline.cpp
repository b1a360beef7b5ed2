// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/Passes.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace tegula::cuda {
#define GEN_PASS_REGISTRATION
#include "compiler/cuda/roles/Passes.h.inc"

void registerRolesPasses() { registerCudaRolesPasses(); }

void buildRolesPipeline(mlir::OpPassManager &passes) {
  passes.addPass(createPlanRoles());
  passes.addPass(createSplitRoles());
  passes.addPass(createPlanSteps());
  passes.addPass(createExchangeTiles());
  passes.addPass(createPipelineLoops());
  passes.addPass(createAddByTma());
  passes.addPass(createCheckProgress());
}

} // namespace tegula::cuda
