// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/attention_programs.h"
#include "tegula/schedule.h"
#include "tegula/size.h"

#include <array>
#include <optional>

namespace tegula {

/// Returns the grid of a program with a schedule, as sizes over batch, heads, kv_heads, seqlen_q and seqlen_k. A
/// persistent kernel has as many program instances as run at the same time, but at most one for each block of queries.
/// If the program's blocks are listed, `strips` is a bound of their number.
std::array<Size, 3> launchGrid(GridRows rows, const Schedule &schedule, const std::optional<Size> &strips = {});

} // namespace tegula
