// SPDX-License-Identifier: MIT
#include "compiler/debug/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

namespace tegula::debug {

void buildDebugPipeline(mlir::OpPassManager &passes, const DebugOptions &options) {
  if (options.check_finite != FiniteCheck::none)
    passes.addNestedPass<mlir::func::FuncOp>(
        createCheckFinite({.infinities = options.check_finite == FiniteCheck::inf}));
  passes.addPass(createWriteRecords({.print = options.print, .asserts = options.device_asserts}));
}

} // namespace tegula::debug
