// SPDX-License-Identifier: MIT
// The passes of the phase `roles`: which warps load and which compute. Passes.td says what each does.
#pragma once

#include "mlir/Pass/Pass.h"

namespace tegula::cuda {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/cuda/roles/Passes.h.inc"

/// Adds the passes of the phase in the order in which they run.
void buildRolesPipeline(mlir::OpPassManager &passes);

} // namespace tegula::cuda
