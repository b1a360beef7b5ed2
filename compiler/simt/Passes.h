// SPDX-License-Identifier: MIT
// Passes of the simt target, which shares all others with cuda; Passes.td says what each does.
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
