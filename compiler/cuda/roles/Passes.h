// SPDX-License-Identifier: MIT
// The passes of the phase `roles`: which warps load and which compute. Passes.td says what each does.
#pragma once

#include <memory>

namespace mlir {
class OpPassManager;
class Pass;
} // namespace mlir

namespace tegula::cuda {

std::unique_ptr<mlir::Pass> createPrintLoopGraph();  ///< Not part of the phase.
std::unique_ptr<mlir::Pass> createPrintRoleTraces(); ///< Not part of the phase.
std::unique_ptr<mlir::Pass> createPrintChannels();   ///< Not part of the phase.
std::unique_ptr<mlir::Pass> createPlanRoles();
std::unique_ptr<mlir::Pass> createSplitRoles();
std::unique_ptr<mlir::Pass> createPlanSteps();
std::unique_ptr<mlir::Pass> createExchangeTiles();
std::unique_ptr<mlir::Pass> createPipelineLoops();
std::unique_ptr<mlir::Pass> createAddByTma();
std::unique_ptr<mlir::Pass> createCheckProgress();

/// Adds these passes in this order.
void buildRolesPipeline(mlir::OpPassManager &passes);
void registerRolesPasses();

} // namespace tegula::cuda
