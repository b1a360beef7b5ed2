// SPDX-License-Identifier: MIT
// What a role does to channels and turns, step by step, for sizes that are chosen here.
#pragma once

#include "compiler/sm/Sm.h"

#include <vector>

namespace tegula::cuda {

/// A wait or an arrival.
struct RoleEvent {
  enum class Kind {
    waitEmpty, ///< Until a slot is empty.
    fill,      ///< The slot becomes full.
    waitFull,  ///< Until a slot is full.
    release,   ///< The slot becomes empty for this warpgroup.
    store,     ///< This warpgroup has stored its part of a slot.
    takeTurn,  ///< Until the warpgroup before this one passes the turn; with a channel, by its store.
    passTurn,
  };
  Kind kind;
  mlir::Operation *op;
  sm::ChannelOp channel = {}; ///< Null for turns that no store passes.
  int64_t slot = 0, phase = 0;
};

struct RoleTrace {
  std::vector<RoleEvent> events;
  bool isCut = false; ///< True if the role goes on after these events.
};

/// Returns the first events of a role, all of whose warpgroups do the same. The sizes of tensors, and what the program
/// reads from them, are numbers that depend on `scenario` and on the op alone, so that all roles see the same.
RoleTrace traceOf(mlir::Region &role, unsigned scenario);

} // namespace tegula::cuda
