// SPDX-License-Identifier: MIT
// Where the lanes of a warp meet before they release a slot.
#pragma once

#include "compiler/sm/Sm.h"

namespace tegula::cuda {

/// Places an `sm.barrier warp` before a release that one lane makes for its warp, if other lanes may still read the
/// slot.
void meetBefore(sm::ReleaseOp release);

} // namespace tegula::cuda
