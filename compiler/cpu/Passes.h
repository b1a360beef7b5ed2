// SPDX-License-Identifier: MIT
// Passes of the cpu target; Passes.td says what each does.
#pragma once

#include "mlir/Pass/Pass.h"

namespace tegula::cpu {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/cpu/Passes.h.inc"

void buildPlanPipeline(mlir::OpPassManager &passes);
void buildLoopsPipeline(mlir::OpPassManager &passes);

} // namespace tegula::cpu
