// SPDX-License-Identifier: MIT
// A program text as MLIR, with everything that MLIR says about it collected.
#pragma once

#include "compiler/tile/SourcePlace.h"
#include "tegula/artifact.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace tegula {

/// A parsed program. Its context collects all diagnostics.
class SourceProgram {
public:
  SourceProgram();

  /// Parses and verifies `text`.
  Status parse(const std::string &text);
  /// Lets the program report what `options` ask for.
  Status addRecords(const DebugOptions &options);
  /// Fills in the artifact's kernel name, parameters and debug records.
  Status describe(Artifact &artifact);
  /// Returns all diagnostics so far as one compile_failed.
  Status failure() const;
  /// Returns the remarks so far, one a line.
  const std::string &remarks() const { return remarks_; }

  mlir::MLIRContext *context() { return &context_; }
  mlir::ModuleOp module() { return *module_; }

private:
  void collect(mlir::Diagnostic &diagnostic);

  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::string messages_, remarks_;
};

} // namespace tegula
