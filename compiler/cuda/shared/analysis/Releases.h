// SPDX-License-Identifier: MIT
// Where the lanes of a warp meet before they release a slot.
#pragma once

#include "compiler/sm/Sm.h"

namespace tegula::cuda {

/// Places an `sm.barrier warp` before the release if lanes may still read the slot, of which one releases it for its
/// warp.
void meetBefore(sm::ReleaseOp release);

} // namespace tegula::cuda
