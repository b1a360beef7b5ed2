// SPDX-License-Identifier: MIT
// The common part of the compilations for cuda and simt. No GPU has to be present.
#pragma once

#include "compiler/driver/Compilation.h"
#include "compiler/emit/Emit.h"

namespace tegula {

/// A compilation whose passes target a GPU.
class GpuCompilation : public Compilation {
public:
  using Compilation::Compilation;

  std::vector<Fallback> fallbacks() const override;
  std::vector<Fallback> neighbours() const override;
  std::string place() const override { return place_; }

protected:
  Status prepare(mlir::ModuleOp module) override;
  Status end(llvm::StringRef phase) override;
  /// Sets the fields of the artifact that a launch needs. Returns resource_exhausted if a program instance needs more
  /// shared memory than the GPU has.
  Status describeLaunch();

  emit::GpuTarget target_;

private:
  Status takeChoice(mlir::ModuleOp module);
  Status checkRoles(const Schedule &schedule) const;
  std::vector<Schedule> smallerSchedules() const;
  std::vector<Fallback> insteadOfChosen(const std::vector<Schedule> &schedules) const;

  bool reports() const { return !artifact_.debug.sites.empty(); }

  Schedule given_;                   ///< The fields that the request or the program gives.
  Schedule chosen_;                  ///< With the compiler's choice of the others.
  std::vector<Schedule> neighbours_; ///< Schedules that may spill fewer registers than `chosen_`.
  std::string obstacles_;            ///< The remarks that say why the compiler chose no roles.
  std::string place_;                ///< The line of the first product, or of the program if it has none.
};

} // namespace tegula
