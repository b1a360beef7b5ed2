// SPDX-License-Identifier: MIT
// How many MMAs may still run when an `sm.await` has waited for its own.
#pragma once

#include "compiler/sm/Sm.h"

namespace tegula::sm {

/// Returns the least number of MMAs that start between the MMA that `await` waits for and `await`, over all paths.
/// MMAs finish in the order in which they started, so that many younger ones may still run. 0 where a path is not
/// known.
int64_t pendingGroups(AwaitOp await);

} // namespace tegula::sm
