// SPDX-License-Identifier: MIT
// The channels between roles: their mbarriers, and the named barriers of a channel by_barriers.
#pragma once

#include "compiler/cuda/threads/Threads.h"

namespace tegula::cuda {

/// Returns the address of the mbarrier that is full when a warpgroup has stored its part of an exchanged tile. `slot`
/// is the number of the slot, an i32 of the thread.
mlir::Value storedMbarrier(Threads &t, mlir::Value channel, mlir::Value slot, mlir::Value warpgroup);

// Channels by_barriers.

/// Reserves the words of the slot. Fails if the channel has no named barriers yet.
mlir::LogicalResult reserveWords(Threads &t, sm::ChannelOp channel);
/// Lets this warpgroup wait until the slot is empty.
void waitForReader(Threads &t, sm::ChannelOp channel);
/// Writes the words by the first thread, then arrives with what all threads have written. `follows` says whether the
/// slot has a tile.
void handOver(Threads &t, sm::ChannelOp channel, bool follows, mlir::ValueRange words);
/// Lets the reading warp release the slot.
void releaseByBarriers(Threads &t, sm::ChannelOp channel);

} // namespace tegula::cuda
