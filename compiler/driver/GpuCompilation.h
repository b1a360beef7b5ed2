// SPDX-License-Identifier: MIT
// The common part of the compilations for cuda and simt. No GPU has to be present.
#pragma once

#include "compiler/driver/Compilation.h"
#include "compiler/emit/Emit.h"

namespace tegula {

/// The bytes of shared memory that a multiprocessor reserves for each program instance.
inline constexpr int64_t kReservedBytes = 1 << 10;

/// A compilation whose passes target a GPU.
class GpuCompilation : public Compilation {
public:
  using Compilation::Compilation;

  std::optional<Fallback> fallback() const override;

protected:
  Status prepare(mlir::ModuleOp module) override;
  /// Sets the fields of the artifact that a launch needs. Returns resource_exhausted if a program instance needs more
  /// shared memory than the GPU has.
  Status describeLaunch();

  emit::GpuTarget target_;

private:
  Status checkRoles(mlir::ModuleOp module) const;

  bool reports() const { return !artifact_.debug.sites.empty(); }

  /// The schedule with roles that the compiler has chosen for a program that came without one, as the beginning of a
  /// remark at the program's own line; empty if it has not.
  std::string choice_;
};

} // namespace tegula
