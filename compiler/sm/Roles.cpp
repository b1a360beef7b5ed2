// SPDX-License-Identifier: MIT
#include "compiler/sm/Roles.h"

#include "compiler/tile/Walks.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tegula::sm;

//===-- Roles -----------------------------------------------------------------------------------------------------===//

StringRef RoleRef::name() const { return cast<StringAttr>(roles_.getNames()[number_]).getValue(); }
int64_t RoleRef::warps() const { return roles_.getWarps()[number_]; }
int64_t RoleRef::registers() const { return roles_.getRegisters()[number_]; }
int64_t RoleRef::barrier() const { return (*roles_.getBarriers())[number_]; }
int64_t RoleRef::firstTurn() const { return (*roles_.getTurns())[number_]; }

int64_t RoleRef::firstWarp() const {
  if (number_ == 0)
    return 0;
  const RoleRef before(roles_, number_ - 1);
  const bool sharesWarpgroup = warpgroups() == 0 && registers() == before.registers();
  return sharesWarpgroup ? before.endWarp() : llvm::alignTo(before.endWarp(), kWarpsPerWarpgroup);
}

bool RoleRef::hasProducts(Issuer issuer) const {
  return tile::anyOp(body(), [&](AsyncProduct product) { return product.getIssuer() == issuer; });
}

SmallVector<RoleRef> tegula::sm::rolesOf(RolesOp roles) {
  SmallVector<RoleRef> all;
  for (unsigned number = 0; number < roles->getNumRegions(); ++number)
    all.emplace_back(roles, number);
  return all;
}

std::optional<RoleRef> tegula::sm::roleOf(Operation *op) {
  auto roles = op->getParentOfType<RolesOp>();
  if (!roles)
    return std::nullopt;
  Region *region = op->getParentRegion();
  while (region->getParentOp() != roles)
    region = region->getParentRegion();
  return RoleRef(roles, region->getRegionNumber());
}

std::optional<RoleRef> tegula::sm::findRole(RolesOp roles, StringRef name) {
  for (RoleRef role : rolesOf(roles))
    if (role.name() == name)
      return role;
  return std::nullopt;
}

int64_t tegula::sm::warpsOf(RolesOp roles) {
  return llvm::alignTo(rolesOf(roles).back().endWarp(), kWarpsPerWarpgroup);
}

int64_t tegula::sm::registersOfBlock(int64_t warps, int64_t blocks) {
  constexpr int64_t perMultiprocessor = 64 << 10, maxPerThread = 255, unit = 8;
  return std::min(perMultiprocessor / (kWarpSize * warps * blocks), maxPerThread) / unit * unit * warps;
}

void RolesOp::build(OpBuilder &b, OperationState &state, ArrayAttr roles) {
  SmallVector<StringRef> names;
  SmallVector<int64_t> warps, registers;
  for (auto role : roles.getAsRange<RoleAttr>()) {
    names.push_back(role.getName());
    warps.push_back(role.getWarps());
    registers.push_back(role.getRegisters());
    ensureTerminator(*state.addRegion(), b, state.location);
  }
  state.addAttribute(getNamesAttrName(state.name), b.getStrArrayAttr(names));
  state.addAttribute(getWarpsAttrName(state.name), b.getDenseI64ArrayAttr(warps));
  state.addAttribute(getRegistersAttrName(state.name), b.getDenseI64ArrayAttr(registers));
}

//===-- Channels --------------------------------------------------------------------------------------------------===//

/// Returns the arrivals by which a role empties a slot: one of each warp if a release of it says so, otherwise one of
/// each warpgroup.
static int64_t releasesOf(ChannelOp channel, RoleRef role) {
  bool areReleased = false;
  for (Operation *user : channel->getUsers()) {
    auto release = dyn_cast<ReleaseOp>(user);
    if (!release || !role.body().findAncestorOpInRegion(*release))
      continue;
    if (release.getPerWarp())
      return role.warps();
    areReleased = true;
  }
  return areReleased ? role.warpgroups() : 0;
}

Protocol tegula::sm::protocolOf(ChannelOp channel) {
  RolesOp roles = *channel->getBlock()->getOps<RolesOp>().begin();
  const RoleRef from = *findRole(roles, channel.getFrom());
  const bool isStored = llvm::any_of(channel->getUsers(), llvm::IsaPred<ProducerStoreOp>);
  Protocol protocol{1, isStored ? from.warps() : 1, 0};
  if (channel.getPerWarpgroup())
    protocol = {from.warpgroups(), kWarpsPerWarpgroup, 0};
  for (Attribute name : channel.getTo())
    protocol.empty += releasesOf(channel, *findRole(roles, cast<StringAttr>(name).getValue()));
  return protocol;
}

ProducerAcquireOp tegula::sm::acquireOf(Operation *op, Value channel, Value slot) {
  for (Operation *user : channel.getUsers()) {
    auto acquire = dyn_cast<ProducerAcquireOp>(user);
    Operation *inBlock = acquire ? acquire->getBlock()->findAncestorOpInBlock(*op) : nullptr;
    if (inBlock && acquire->isBeforeInBlock(inBlock) && acquire.getSlot() == slot)
      return acquire;
  }
  return {};
}
