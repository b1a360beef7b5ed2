// SPDX-License-Identifier: MIT
// Passes that let a kernel report to the host. They run before all others, on the program as recorded. Passes.td
// describes each pass.
#pragma once

#include "tegula/artifact.h"

#include <memory>

namespace mlir {
class ModuleOp;
class OpPassManager;
class Pass;
} // namespace mlir

namespace tegula::debug {

/// Makes the pass that erases prints.
std::unique_ptr<mlir::Pass> createWriteRecords();

/// Adds the passes that `options` ask for.
void buildDebugPipeline(mlir::OpPassManager &passes, const DebugOptions &options);
/// Returns what `write-records` has said about the module's records.
DebugLayout layoutOf(mlir::ModuleOp module);
void registerPasses();

} // namespace tegula::debug
