// SPDX-License-Identifier: MIT
// Additions that program instances make one after another.
#pragma once

#include "compiler/cuda/threads/Threads.h"

namespace tegula::cuda {

// The adder: a warp beside the producer, which makes the TMA additions of all consumer warps, perhaps in turns.
// Consumers write a tile to the buffer and, for one tile at a time, an order to the mailbox: coordinates and turn.

/// Returns an addition of `roles` that the adder makes. Null if there is none.
sm::AddOutOp additionOfAdder(sm::RolesOp roles);
/// Returns the number of bytes of the mailbox.
int64_t mailboxBytes(sm::AddOutOp add);
/// Waits until this warpgroup may write to the buffer.
void waitForAdder(Threads &t);
/// Hands what this thread has written to the buffer to the adder, with the order to add it.
void handToAdder(Threads &t, sm::AddOutOp add);
/// Tells the adder that no tile follows.
void dismissAdder(Threads &t);
/// Emits the program of the adder.
void lowerAdder(Threads &t, sm::AddOutOp add);

} // namespace tegula::cuda
