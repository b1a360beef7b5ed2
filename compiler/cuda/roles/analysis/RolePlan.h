// SPDX-License-Identifier: MIT
// The plan of a function's roles, which plan-roles writes as attributes and split-roles carries out.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace tegula::cuda {

/// An array of `#sm.role` on a function: its roles, the one that computes first.
constexpr llvm::StringLiteral kRoles = "sm.roles";
/// The name of the role that makes the tile of an op, on the op. Without it, the role that computes does.
constexpr llvm::StringLiteral kRole = "tile.role";
/// The number of slots of the rings that the iterations of a loop fill, on the loop. One position serves them all.
constexpr llvm::StringLiteral kSlots = "tile.slots";
/// The step lists of other roles than the one that computes, by name, on a loop.
constexpr llvm::StringLiteral kRoleSteps = "tile.role_steps";

/// The role that computes, the one that loads tiles for it, the one that transposes loaded tiles, the one whose lane
/// starts products, and the one that adds tiles to memory.
constexpr llvm::StringLiteral kCompute = "compute", kLoad = "load", kTranspose = "transpose", kMma = "mma",
                              kAdd = "add";

} // namespace tegula::cuda
