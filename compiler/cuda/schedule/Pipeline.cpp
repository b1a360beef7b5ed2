// SPDX-License-Identifier: MIT
#include "compiler/cuda/schedule/Passes.h"

#include "mlir/Pass/PassManager.h"

void tegula::cuda::buildSchedulePipeline(mlir::OpPassManager &passes) { passes.addPass(createChooseSchedule()); }
