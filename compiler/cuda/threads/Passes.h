// SPDX-License-Identifier: MIT
// The passes of the phase `threads`: the program of one thread. Passes.td says what each does.
#pragma once

#include <memory>

namespace mlir {
class OpPassManager;
class Pass;
} // namespace mlir

namespace tegula::cuda {

std::unique_ptr<mlir::Pass> createLowerToThreads();

/// Adds these passes in this order.
void buildThreadsPipeline(mlir::OpPassManager &passes);
void registerThreadsPasses();

} // namespace tegula::cuda
