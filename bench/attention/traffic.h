// SPDX-License-Identifier: MIT
// How many bytes an algorithm moves.
#pragma once

#include "workload/attention_case.h"

namespace tegula::bench {

/// Bytes that the programs of one pass load and store, counted from their loops, whether memory or a cache serves them.
double forwardTraffic(const tools::AttentionCase &attention, const AttentionPlan &plan);
double backwardTraffic(const tools::AttentionCase &attention, const AttentionPlan &plan);

} // namespace tegula::bench
