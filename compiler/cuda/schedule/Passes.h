// SPDX-License-Identifier: MIT
// The pass that completes the schedule of a program, at the end of the phase `tile`. Passes.td says what it does.
#pragma once

#include <memory>

namespace mlir {
class OpPassManager;
class Pass;
} // namespace mlir

namespace tegula::cuda {

std::unique_ptr<mlir::Pass> createChooseSchedule();

void buildSchedulePipeline(mlir::OpPassManager &passes);
void registerSchedulePasses();

} // namespace tegula::cuda
