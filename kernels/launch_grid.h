// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/attention.h"
#include "tegula/attention_programs.h"
#include "tegula/kernel.h"

namespace tegula {

/// Returns the grid of a launch. A persistent kernel has as many program instances as run at the same time
/// (Kernel::concurrency), but at most one for each block of queries. The number of blocks may be beyond 64 bits.
Grid launchGrid(GridRows rows, const AttentionShape &shape, const Schedule &schedule, int64_t concurrency);

} // namespace tegula
