// SPDX-License-Identifier: MIT
// The schedule of a program that comes without one, or with some fields of one.
#pragma once

#include "tegula/schedule.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace tegula::cuda {

/// A bool on a module: true if the GPU has wgmma and TMA (sm_90a).
constexpr llvm::StringLiteral kHasWgmma = "tile.has_wgmma";
/// An array of texts on a module with a complete schedule: schedules to try if it spills registers, the best first.
constexpr llvm::StringLiteral kNeighbours = "tile.neighbours";

/// A reason that keeps the MMAs of a program from wgmma, and its loads from a producer with TMA.
struct Obstacle {
  mlir::Operation *product; ///< The dot, or the update of an online softmax, at whose line the user reads the reason.
  std::string reason;       ///< Says what would change it.
};

using Obstacles = llvm::SmallVector<Obstacle, 1>;

struct ScheduleChoice {
  Schedule schedule; ///< Has the given fields. Fields without a value do not depend on the program.
  /// Schedules to try if `schedule` spills registers, the best first. There are none for a program with few
  /// accumulators.
  std::vector<Schedule> neighbours;
  Obstacles obstacles; ///< The reasons why `schedule` has no roles, on a GPU that has wgmma and TMA.
};

/// Returns true if the schedule says roles=load, or has a field that needs it and leaves the roles to the compiler.
bool demandsRoles(const Schedule &given);

/// Chooses warps, stages, roles, instances, the overlap of products with exponentials and how tiles are added to
/// memory, so that accumulators have room in the registers. Fields that `given` sets keep their values, and the choice
/// of the others agrees with them. The module says what the GPU has.
ScheduleChoice chooseSchedule(mlir::ModuleOp module, const Schedule &given);

} // namespace tegula::cuda
