// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/attention.h"
#include "tegula/attention_programs.h"
#include "tegula/kernel.h"

namespace tegula {

/// How many program instances a launch has. With Schedule::persistent, as many as run at the same time
/// (Kernel::concurrency), but no more than there are blocks of queries, whatever their product is.
Grid launchGrid(GridRows rows, const AttentionShape &shape, const Schedule &schedule, int64_t concurrency);

} // namespace tegula
