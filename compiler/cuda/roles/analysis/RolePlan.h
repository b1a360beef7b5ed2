// SPDX-License-Identifier: MIT
// The plan of a function's roles, which plan-roles writes as attributes and split-roles carries out.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tegula::cuda {

/// An array of `#sm.role` on a function: its roles, the one that computes first.
constexpr llvm::StringLiteral kRoles = "sm.roles";
/// The name of a role, on an op that a program of its own runs.
constexpr llvm::StringLiteral kRole = "tile.role";
/// The number of slots of the rings that the iterations of a loop fill, on the loop. One position serves them all.
constexpr llvm::StringLiteral kSlots = "tile.slots";

/// The role that computes, and the one that loads tiles for it.
constexpr llvm::StringLiteral kCompute = "compute", kLoad = "load";

} // namespace tegula::cuda
