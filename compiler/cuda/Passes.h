// SPDX-License-Identifier: MIT
// Passes of the cuda target; Passes.td says what each does.
#pragma once

#include <memory>

namespace mlir {
class OpPassManager;
class Pass;
} // namespace mlir

namespace tegula::cuda {

std::unique_ptr<mlir::Pass> createAssignLayouts();
std::unique_ptr<mlir::Pass> createDeferReductions();
std::unique_ptr<mlir::Pass> createSpecializeWarps();
std::unique_ptr<mlir::Pass> createOverlapMmas();
std::unique_ptr<mlir::Pass> createReadEarly();
std::unique_ptr<mlir::Pass> createPipelineCopies();
std::unique_ptr<mlir::Pass> createEndWarpgroupsEarly();
std::unique_ptr<mlir::Pass> createKeepLhsInRegisters();
std::unique_ptr<mlir::Pass> createAllocateShared();
std::unique_ptr<mlir::Pass> createIssueLoadsEarly();
std::unique_ptr<mlir::Pass> createArrangeAdditions();
std::unique_ptr<mlir::Pass> createPlanShared();
std::unique_ptr<mlir::Pass> createInsertBarriers();
std::unique_ptr<mlir::Pass> createLowerToThreads();

void buildLayoutsPipeline(mlir::OpPassManager &passes); ///< assign-layouts, defer-reductions
void buildSharedPipeline(mlir::OpPassManager &passes);  ///< specialize-warps to end-warpgroups-early
void buildThreadsPipeline(mlir::OpPassManager &passes); ///< lower-to-threads
void registerPasses();

} // namespace tegula::cuda
