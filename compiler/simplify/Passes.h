// SPDX-License-Identifier: MIT
// The phase `simplify`: passes that every target needs, and passes for GPUs. Passes.td describes each pass.
#pragma once

#include <memory>

namespace mlir {
class OpPassManager;
class Pass;
} // namespace mlir

namespace tegula::simplify {

std::unique_ptr<mlir::Pass> createBase2Exponentials();
std::unique_ptr<mlir::Pass> createBlockRandom();
std::unique_ptr<mlir::Pass> createDecomposeSoftmax();
std::unique_ptr<mlir::Pass> createBoundaryMasks();
std::unique_ptr<mlir::Pass> createFuseMultiplyAdds();
std::unique_ptr<mlir::Pass> createGuardDivision();
std::unique_ptr<mlir::Pass> createGuardLoops();
std::unique_ptr<mlir::Pass> createGuardShifts();
std::unique_ptr<mlir::Pass> createHoistGathers();
std::unique_ptr<mlir::Pass> createLimitRows();
std::unique_ptr<mlir::Pass> createLinearPositions();
std::unique_ptr<mlir::Pass> createLoadAffineGathers();
std::unique_ptr<mlir::Pass> createReciprocalDivisors();
std::unique_ptr<mlir::Pass> createScaleAfterMasks();

void buildSimplifyPipeline(mlir::OpPassManager &passes);
/// Adds the passes for GPUs, which have tensor cores, and instructions that all threads of a warp can skip together.
void buildCudaSimplifyPipeline(mlir::OpPassManager &passes);
void registerPasses();

} // namespace tegula::simplify
