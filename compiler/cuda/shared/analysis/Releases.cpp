// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/analysis/Releases.h"

#include "compiler/sm/Roles.h"

using namespace mlir;
using namespace tegula;

/// Returns true if no meeting is needed: only one lane executes the role, each lane releases the slot for itself, or an
/// MMA has synchronised the lanes since they waited for the tile.
static bool isReleasedTogether(sm::ReleaseOp release) {
  sm::ChannelOp channel = sm::channelOf(release.getChannel());
  std::optional<sm::RoleRef> role = sm::roleOf(release);
  if (!release.getPerWarp() || (channel && channel.getByBarriers()) || (role && role->hasProducts(sm::Issuer::lane)))
    return true;
  // The fence says that lanes have read this tile, or another tile that is released with it.
  if (isa_and_present<sm::ProxyFenceOp>(release->getPrevNode()))
    return false;
  auto isInBlock = [&](Operation *op) { return op->getBlock() == release->getBlock(); };
  auto isMma = [&](Operation *reader) { return isa<sm::AsyncProduct>(reader) && isInBlock(reader); };
  return llvm::any_of(release.getChannel().getUsers(), [&](Operation *user) {
    return isa<sm::ConsumerWaitOp>(user) && isInBlock(user) && !user->use_empty() &&
           llvm::all_of(user->getUsers(), isMma);
  });
}

void cuda::meetBefore(sm::ReleaseOp release) {
  if (isa_and_present<sm::BarrierOp>(release->getPrevNode()) || isReleasedTogether(release))
    return;
  OpBuilder b(release);
  sm::BarrierOp::create(b, release.getLoc(), /*warp=*/true);
}
