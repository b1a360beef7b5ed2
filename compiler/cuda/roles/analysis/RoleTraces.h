// SPDX-License-Identifier: MIT
// What a role does to channels and turns, step by step, for sizes that are chosen here.
#pragma once

#include "compiler/sm/Sm.h"

#include <vector>

namespace tegula::cuda {

/// A wait or an arrival of an op, with numbers.
struct RoleStep {
  sm::RoleEvent::Kind kind;
  mlir::Operation *op;
  sm::ChannelOp channel = {}; ///< Null for turns that no store passes.
  int64_t slot = 0, phase = 0;
};

struct RoleTrace {
  std::vector<RoleStep> steps;
  bool isCut = false; ///< True if the role goes on after these steps.
};

/// Returns the first steps of a role, all of whose warpgroups do the same. The sizes of tensors, and what the program
/// reads from them, are numbers that depend on `scenario` and on the op alone, so that all roles see the same.
RoleTrace traceOf(mlir::Region &role, unsigned scenario);

} // namespace tegula::cuda
