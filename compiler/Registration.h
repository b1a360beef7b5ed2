// SPDX-License-Identifier: MIT
// Everything of the compiler by name: its dialects, passes and phases.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace tegula {

/// A step of compilation that users can name, in `--until=` and `--emit=`.
struct MlirPhase {
  llvm::StringRef name;
  llvm::StringRef summary;
  void (*build)(mlir::OpPassManager &);
};

llvm::ArrayRef<llvm::StringRef> targetNames();
/// Returns the phases of a target, in the order in which they run. Empty if there is no such target.
llvm::ArrayRef<MlirPhase> mlirPhases(llvm::StringRef target);

/// Registers every dialect that a program may contain in some phase.
void registerTegulaDialects(mlir::DialectRegistry &registry);
/// Registers every pass, and every phase as a pipeline called TARGET-PHASE. Call it once per process.
void registerTegulaPasses();

} // namespace tegula
