// SPDX-License-Identifier: MIT
// The phase `simplify`: passes that every target needs, and passes for GPUs. Passes.td describes each pass.
#pragma once

#include "mlir/Pass/Pass.h"

namespace tegula::simplify {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/simplify/Passes.h.inc"

void buildSimplifyPipeline(mlir::OpPassManager &passes);
/// Adds the passes for GPUs, which have tensor cores, and instructions that all threads of a warp can skip together.
void buildCudaSimplifyPipeline(mlir::OpPassManager &passes);

} // namespace tegula::simplify
