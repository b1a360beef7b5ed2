// SPDX-License-Identifier: MIT
// Lowering of warp roles.
#include "compiler/cuda/threads/Threads.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using Compare = Scalars::Compare;

LogicalResult Threads::lowerRoles(sm::RolesOp roles) {
  if (!roles.getBarriers())
    return roles.emitError("has no named barriers; plan-shared gives them to roles");
  gpu.publishMbarriers();
  gpu.barrier();
  return lowerGroups(sm::rolesOf(roles));
}

/// Lowers roles group by group. A group shares warpgroups, so its roles have equal registers.
LogicalResult Threads::lowerGroups(Roles roles) {
  const int64_t registers = roles.front().registers();
  Roles group = roles.take_while([&](const sm::RoleRef &role) { return role.registers() == registers; });
  Roles others = roles.drop_front(group.size());
  if (others.empty())
    return lowerGroup(group);
  Value isOther = s.compare(Compare::sge, warp_, others.front().firstWarp());
  auto branch = scf::IfOp::create(b, isOther, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  if (failed(lowerGroup(group)))
    return failure();
  b.setInsertionPointToStart(branch.thenBlock());
  return lowerGroups(others);
}

/// Lowers the roles of some warpgroups, the last one first. The roles with most registers take what others give up.
LogicalResult Threads::lowerGroup(Roles group) {
  gpu.setRegisters(group.front().registers(), /*more=*/group.front().hasMostRegisters());
  const int64_t end = llvm::alignTo(group.back().endWarp(), sm::kWarpsPerWarpgroup);
  if (group.size() == 1 && group.front().endWarp() == end)
    return lowerRole(group.front());
  for (const sm::RoleRef &role : llvm::reverse(group)) {
    Value isInRole = role.warps() == 1 ? s.compare(Compare::eq, warp_, role.firstWarp())
                                       : s.both(s.compare(Compare::sge, warp_, role.firstWarp()),
                                                s.compare(Compare::slt, warp_, role.endWarp()));
    LogicalResult lowered = success();
    onlyIf(isInRole, [&] { lowered = lowerRole(role); });
    if (failed(lowered))
      return failure();
  }
  return success();
}

/// Lowers the program of a role, in which warps count from 0.
LogicalResult Threads::lowerRole(const sm::RoleRef &role) {
  Value warpOfBlock = warp_;
  const int64_t warpsOutside = warps_, first = role.firstWarp();
  auto placesOutside = std::exchange(places_, {});
  role_ = role;
  warps_ = role.warps();
  if (first != 0)
    warp_ = atEntry([&] { return s.sub(warpOfBlock, s.i32(first)); });
  const LogicalResult lowered = lowerBlock(role.block());
  role_.reset();
  warp_ = warpOfBlock;
  warps_ = warpsOutside;
  places_ = std::move(placesOutside);
  return lowered;
}

void Threads::byLane(Value isLane, function_ref<void()> emit) {
  const int64_t lanesOutside = std::exchange(lanes_, 1);
  onlyIf(isLane, emit);
  lanes_ = lanesOutside;
}

void Threads::byOneLane(function_ref<void()> emit) { lanes_ == 1 ? emit() : byLane(gpu.electLane(), emit); }

LogicalResult Threads::lowerElect(sm::ElectOp elect) {
  LogicalResult lowered = success();
  byLane(isFirstLane(), [&] { lowered = lowerBlock(elect.getBody().front()); });
  return lowered;
}
