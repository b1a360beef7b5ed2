// SPDX-License-Identifier: MIT
// The pass of the simt target, which shares all other passes with cuda. Passes.td describes it.
#pragma once

#include "mlir/Pass/Pass.h"

namespace tegula::simt {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/simt/Passes.h.inc"

void buildCallsPipeline(mlir::OpPassManager &passes); ///< call-executor

} // namespace tegula::simt
