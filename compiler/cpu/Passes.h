// SPDX-License-Identifier: MIT
// Passes of the cpu target; Passes.td says what each does.
#pragma once

#include <memory>

namespace mlir {
class OpPassManager;
class Pass;
} // namespace mlir

namespace tegula::cpu {

std::unique_ptr<mlir::Pass> createPlanBuffers();
std::unique_ptr<mlir::Pass> createLowerToLoops();

std::unique_ptr<mlir::Pass> createApproximateMath();

void buildPlanPipeline(mlir::OpPassManager &passes);
void buildLoopsPipeline(mlir::OpPassManager &passes);
void registerPasses();

} // namespace tegula::cpu
