// SPDX-License-Identifier: MIT
// The schedule of a program that comes without one.
#pragma once

#include "tegula/schedule.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace tegula {

/// A schedule with roles, and the first of the products that it is for.
struct HopperChoice {
  Schedule schedule;
  mlir::Location where;
};

/// Chooses warps, stages, roles, the overlap of products with exponentials and how tiles are added to memory, for a
/// program on a GPU with wgmma and TMA (sm_90a). Other fields are those of `schedule`. Returns nothing if the program
/// has no product in a loop that whole warpgroups could compute. `sharedBytes` is the shared memory of a program
/// instance.
std::optional<HopperChoice> chooseForHopper(mlir::ModuleOp module, Schedule schedule, int64_t sharedBytes);

} // namespace tegula
