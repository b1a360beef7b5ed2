// SPDX-License-Identifier: MIT
// Passes that let a kernel report to the host. They run before all others, on the program as recorded. Passes.td
// describes each pass.
#pragma once

#include "tegula/artifact.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tegula::debug {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/debug/Passes.h.inc"

/// Adds the passes that `options` ask for.
void buildDebugPipeline(mlir::OpPassManager &passes, const DebugOptions &options);
/// Returns what `write-records` has said about the module's records.
DebugLayout layoutOf(mlir::ModuleOp module);

} // namespace tegula::debug
