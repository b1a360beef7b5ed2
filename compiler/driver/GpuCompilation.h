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
  /// Sets what a launch must know. Returns resource_exhausted if the GPU does not have as much shared memory.
  Status describeLaunch();

  emit::GpuTarget target_;

private:
  Status checkRoles(mlir::ModuleOp module) const;
};

} // namespace tegula
