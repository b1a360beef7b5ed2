// SPDX-License-Identifier: MIT
// What compilations for a GPU have in common, whether it is there or not.
#pragma once

#include "compiler/driver/Compilation.h"
#include "compiler/emit/Emit.h"

namespace tegula {

class GpuCompilation : public Compilation {
public:
  using Compilation::Compilation;

protected:
  Status prepare(mlir::ModuleOp module) override;
  /// Sets Artifact::shared_bytes; ResourceExhausted if the GPU does not have as much.
  Status checkSharedMemory();

  emit::GpuTarget target_;
};

} // namespace tegula
