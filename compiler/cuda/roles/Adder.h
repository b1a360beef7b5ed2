// SPDX-License-Identifier: MIT
// The role that adds: a warp that starts the TMA additions of what other warps have computed, perhaps in turns.
#pragma once

#include "compiler/sm/Roles.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tegula::cuda {

/// Makes the channel through which the role of `add` hands tiles of its form to the role that adds.
sm::ChannelOp makeChannelToAdder(tile::AtomicAddOp add);

/// Hands the tile of an addition to the role that adds.
void handToAdder(mlir::ImplicitLocOpBuilder &b, tile::AtomicAddOp add, sm::ChannelOp channel);

/// Adds the role that adds, after all others. All additions that are handed to it have the form of `add`: their tiles
/// have one layout, and they have one tensor and its counters.
void addAdder(tile::AtomicAddOp add, sm::ChannelOp channel);

} // namespace tegula::cuda
