// SPDX-License-Identifier: MIT
// The passes of the phase `shared`: shared memory, copies and barriers. Passes.td says what each does.
#pragma once

#include <memory>

namespace mlir {
class OpPassManager;
class Pass;
} // namespace mlir

namespace tegula::cuda {

std::unique_ptr<mlir::Pass> createPrintAccesses(); ///< Not part of the phase.
std::unique_ptr<mlir::Pass> createPipelineCopies();
std::unique_ptr<mlir::Pass> createKeepLhsInRegisters();
std::unique_ptr<mlir::Pass> createAllocateShared();
std::unique_ptr<mlir::Pass> createIssueLoadsEarly();
std::unique_ptr<mlir::Pass> createDrawLate();
std::unique_ptr<mlir::Pass> createArrangeAdditions();
std::unique_ptr<mlir::Pass> createPlanShared();
std::unique_ptr<mlir::Pass> createStoreByTma();
std::unique_ptr<mlir::Pass> createInsertBarriers();
std::unique_ptr<mlir::Pass> createExpandMeetings();
std::unique_ptr<mlir::Pass> createEndWarpgroupsEarly();
std::unique_ptr<mlir::Pass> createPlaceFences();
std::unique_ptr<mlir::Pass> createCountWaits();
std::unique_ptr<mlir::Pass> createElectLanes();

/// Adds these passes in this order.
void buildSharedPipeline(mlir::OpPassManager &passes);
void registerSharedPasses();

} // namespace tegula::cuda
