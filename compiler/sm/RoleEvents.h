// SPDX-License-Identifier: MIT
// What ops do to channels and turns: which waits and arrivals a role makes.
#pragma once

#include "mlir/IR/Value.h"

namespace tegula::sm {

/// A wait or an arrival of a role.
struct RoleEvent {
  enum class Kind {
    waitEmpty, ///< Until a slot is empty.
    fill,      ///< The slot becomes full.
    waitFull,  ///< Until a slot is full.
    release,   ///< The slot becomes empty for this warpgroup.
    store,     ///< This warpgroup has stored its part of a slot.
    close,     ///< This warpgroup stores no more.
    next,      ///< Until a slot is full or the channel is closed, which ends the role.
    takeTurn,  ///< Until the warpgroup before this one passes the turn; with a channel, by its store.
    passTurn,
  };
  Kind kind;
  mlir::Value channel = {}; ///< Null for turns that no store passes.
  mlir::Value slot = {};
  mlir::Value phase = {};

  /// Returns true if the op writes a slot, or waits for one that it writes.
  bool isOfWriter() const {
    return kind == Kind::waitEmpty || kind == Kind::fill || kind == Kind::store || kind == Kind::close;
  }
  /// Returns true if the op reads a slot, or is done with it.
  bool isOfReader() const { return kind == Kind::waitFull || kind == Kind::next || kind == Kind::release; }
};

} // namespace tegula::sm
