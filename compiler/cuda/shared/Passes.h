// SPDX-License-Identifier: MIT
// The passes of the phase `shared`: shared memory, copies and barriers. Passes.td says what each does.
#pragma once

#include "mlir/Pass/Pass.h"

namespace tegula::cuda {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/cuda/shared/Passes.h.inc"

/// Adds the passes of the phase in the order in which they run.
void buildSharedPipeline(mlir::OpPassManager &passes);

} // namespace tegula::cuda
