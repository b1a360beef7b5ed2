// SPDX-License-Identifier: MIT
// The pass that completes the schedule of a program, at the end of the phase `tile`. Passes.td says what it does.
#pragma once

#include "mlir/Pass/Pass.h"

namespace tegula::cuda {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/cuda/schedule/Passes.h.inc"

/// Adds the passes of the phase in the order in which they run.
void buildSchedulePipeline(mlir::OpPassManager &passes);

} // namespace tegula::cuda
