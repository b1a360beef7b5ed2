// SPDX-License-Identifier: MIT
// The pass of the simt target, which shares all other passes with cuda. Passes.td describes it.
#pragma once

#include <memory>

namespace mlir {
class OpPassManager;
class Pass;
} // namespace mlir

namespace tegula::simt {

std::unique_ptr<mlir::Pass> createCallExecutor();

void buildCallsPipeline(mlir::OpPassManager &passes); ///< call-executor
void registerPasses();

} // namespace tegula::simt
