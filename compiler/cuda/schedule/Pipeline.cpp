// SPDX-License-Identifier: MIT
#include "compiler/cuda/schedule/Passes.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace tegula::cuda {
#define GEN_PASS_REGISTRATION
#include "compiler/cuda/schedule/Passes.h.inc"

void registerSchedulePasses() { registerCudaSchedulePasses(); }

void buildSchedulePipeline(mlir::OpPassManager &passes) { passes.addPass(createChooseSchedule()); }

} // namespace tegula::cuda
