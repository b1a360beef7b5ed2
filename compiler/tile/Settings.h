// SPDX-License-Identifier: MIT
// The schedule of a module, which the driver writes and passes read: an attribute `tile.NAME` for each field.
#pragma once

#include "tegula/schedule.h"

#include "mlir/IR/BuiltinOps.h"

namespace tegula::tile {

/// A number on a module: the bytes of shared memory that a program instance may have.
constexpr llvm::StringLiteral sharedLimit = "tile.shared_limit";

/// Returns the values of fields that neither the user nor the compiler chooses.
Schedule usualSchedule();
/// Returns the fields that the module that `op` is or is in has attributes for. The others are not set.
Schedule ownSchedule(mlir::Operation *op);
/// Returns the schedule that passes obey: the module's own fields, and the usual values of others.
Schedule scheduleOf(mlir::Operation *op);
/// Writes the fields that are set on the module. Attributes of others stay.
void setSchedule(mlir::ModuleOp module, const Schedule &schedule);
/// Writes the fields of a choice of the compiler. Adds those that the module has no attribute for to `tile.chosen`.
void setChoice(mlir::ModuleOp module, const Schedule &choice);

} // namespace tegula::tile
