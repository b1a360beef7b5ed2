// SPDX-License-Identifier: MIT
// The schedule of a program that comes without one.
#pragma once

#include "tegula/schedule.h"

#include "mlir/IR/BuiltinOps.h"

namespace tegula {

/// Chooses warps, stages and roles for a program on a GPU with wgmma and TMA (sm_90a). Returns `schedule` if the
/// program has no dot in a loop that whole warpgroups could compute. `sharedBytes` is the shared memory of a program
/// instance.
Schedule completeForHopper(mlir::ModuleOp module, Schedule schedule, int64_t sharedBytes);

} // namespace tegula
