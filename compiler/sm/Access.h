// SPDX-License-Identifier: MIT
// What ops do to memory, and what orders them: passes learn it here, never from a list of ops.
#pragma once

#include "compiler/sm/RoleEvents.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tegula::sm {

enum class AccessKind : uint8_t {
  read,
  write,
  add, ///< An atomic addition. Additions need no order among each other.
};

/// Who makes an access that goes on after its op.
enum class Engine : uint8_t {
  none, ///< The lanes that execute the op make the access, and have made it when the op is over.
  cpAsync,
  tma,
  tensorCores,
};

/// Where a product in flight has its accumulators.
enum class SumPlace : uint8_t { registers, tensorMemory };

/// Who starts a product: all threads of whole warpgroups, or one lane.
enum class Issuer : uint8_t { warpgroups, lane };

/// The threads that an op waits for.
enum class Meeting : uint8_t { none, warp, role };

/// One access of an op to memory.
struct Access {
  mlir::OpOperand *place; ///< A view of a tensor, or a tile in shared memory or tensor memory.
  AccessKind kind;
  Engine engine = Engine::none;
  bool isOfSlot = false; ///< The mbarriers of a ring order the access.

  /// Returns true if the access is over only when an op with an Order ends it.
  bool goesOn() const { return engine != Engine::none; }
};

/// The wait of an op that orders accesses of other ops.
struct Order {
  Meeting meeting = Meeting::none; ///< The threads that every execution of the op waits for.
  /// The threads that some executions wait for, such as those that take a fallback. All of these threads must execute
  /// the op, but it orders nothing.
  Meeting mayMeet = Meeting::none;
  /// The engine whose accesses are over after the op, and the handles that stand for these accesses.
  Engine ends = Engine::none;
  mlir::ValueRange handles = {};
  bool fences = false; ///< Lets the asynchronous proxy see what the lane has done, and nothing else.
};

/// The resource of slots of rings (Access.td).
struct SlotResource : mlir::SideEffects::Resource::Base<SlotResource> {
  llvm::StringRef getName() final { return "slot"; }
};

/// Returns the accesses of an op without regions.
llvm::SmallVector<Access, 2> accessesOf(mlir::Operation *op);

/// Returns what `op` waits for. An op that orders nothing has an empty Order.
Order orderOf(mlir::Operation *op);

/// Returns true if `op` only reads memory, has done so when it is over, and waits for no other warp. One warp may then
/// execute it alone.
bool onlyReads(mlir::Operation *op);

/// Returns true if all warps of a role execute `op` together: it waits for them, if only in some executions, or moves
/// elements between them.
bool meetsOtherWarps(mlir::Operation *op);

/// Returns the ops that may have started the accesses that `handle` stands for: an MMA in flight, copies of a commit
/// group, or stores and additions by TMA from a buffer. A loop or a branch may hand the handle on.
llvm::SmallVector<mlir::Operation *, 2> startersOf(mlir::Value handle);

/// Returns the ops that may wait for the accesses that `handle` stands for, or for younger ones of the same
/// accumulators.
llvm::SmallVector<mlir::Operation *, 2> endersOf(mlir::Value handle);

/// Returns true if exactly one op consumes what is in flight. A wait for reads leaves it in flight.
bool isConsumedOnce(mlir::Value handle);

/// Returns true if `place` is the tile of a slot that the op has waited for.
bool isReceived(mlir::Value place);

} // namespace tegula::sm

#include "compiler/sm/SmInterfaces.h.inc"
