// SPDX-License-Identifier: MIT
// The roles of an `sm.roles`, and how their channels hand slots from role to role.
#pragma once

#include "compiler/sm/Sm.h"

#include <optional>

namespace tegula::sm {

/// One role of an `sm.roles`. Cheap to copy.
class RoleRef {
public:
  RoleRef(RolesOp roles, unsigned number) : roles_(roles), number_(number) {}

  RolesOp roles() const { return roles_; }
  /// Returns the position of the role in its op.
  unsigned number() const { return number_; }
  llvm::StringRef name() const;
  mlir::Region &body() const { return roles_->getRegion(number_); }
  mlir::Block &block() const { return body().front(); }
  int64_t warps() const;
  /// Returns the registers of each thread.
  int64_t registers() const;
  /// Returns true if no role has more.
  bool hasMostRegisters() const { return registers() == *llvm::max_element(roles_.getRegisters()); }
  /// Returns the first warp of the role in the thread block. Warps are numbered in the order of the roles. A role of
  /// whole warpgroups, or with other registers than the one before it, begins at the next warpgroup.
  int64_t firstWarp() const;
  int64_t endWarp() const { return firstWarp() + warps(); }
  /// Returns the number of whole warpgroups: 0 for a role of fewer than four warps.
  int64_t warpgroups() const { return warps() / kWarpsPerWarpgroup; }
  /// Returns true if products start in the role that warpgroups, or a lane, start.
  bool hasProducts(Issuer issuer) const;
  /// Returns the named barrier of the role, which `plan-shared` gives to each role of more than one warp.
  int64_t barrier() const;
  /// Returns the named barrier of the first warpgroup's turn; those of the other warpgroups follow.
  int64_t firstTurn() const;

private:
  mutable RolesOp roles_; // Its accessors are not const.
  unsigned number_;
};

llvm::SmallVector<RoleRef> rolesOf(RolesOp roles);
/// Returns the role that `op` is in; empty if it is in none.
std::optional<RoleRef> roleOf(mlir::Operation *op);
/// Returns the role of this name; empty if there is none.
std::optional<RoleRef> findRole(RolesOp roles, llvm::StringRef name);
/// Returns the warps of a thread block with these roles: whole warpgroups.
int64_t warpsOf(RolesOp roles);

/// The mbarriers of a channel.
struct Protocol {
  int64_t fullMbarriers; ///< Full mbarriers of each slot: one for each warpgroup that stores a part, otherwise one.
  int64_t full;          ///< Arrivals after which one of them is over.
  int64_t empty;         ///< The arrivals that make a slot empty again; 0 if no role releases slots.
};

/// Returns the protocol of a channel, which follows from its roles and from the releases of its slots.
Protocol protocolOf(ChannelOp channel);

/// Returns the acquire, before `op` or before a branch around it, of the slot that `op` fills; null if there is none.
ProducerAcquireOp acquireOf(mlir::Operation *op, mlir::Value channel, mlir::Value slot);

} // namespace tegula::sm
