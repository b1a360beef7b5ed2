// SPDX-License-Identifier: MIT
// The passes of the phase `layouts`: which thread holds which element. Passes.td says what each does.
#pragma once

#include <memory>

namespace mlir {
class OpPassManager;
class Pass;
} // namespace mlir

namespace tegula::cuda {

std::unique_ptr<mlir::Pass> createPrintProductCosts();  ///< Not part of the phase.
std::unique_ptr<mlir::Pass> createPrintProductGroups(); ///< Not part of the phase.
std::unique_ptr<mlir::Pass> createPlanProducts();
std::unique_ptr<mlir::Pass> createWidenProducts();
std::unique_ptr<mlir::Pass> createAssignLayouts();
std::unique_ptr<mlir::Pass> createDeferReductions();

/// Adds these passes in this order.
void buildLayoutsPipeline(mlir::OpPassManager &passes);
void registerLayoutsPasses();

} // namespace tegula::cuda
