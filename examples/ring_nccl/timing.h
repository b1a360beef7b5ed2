// SPDX-License-Identifier: MIT
// Times of both passes.
#pragma once

#include "rank.h"
#include "team.h"

/// Times the passes of a ring, of its kernels without exchanges, and of its exchanges without kernels. All ranks call
/// it. Rank 0 prints the medians of the slowest rank.
void timeRing(const Options &options, Rank &rank, Device &device, Exchange &exchange, Team &team,
              const tegula::host::Context &context);
