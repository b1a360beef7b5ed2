// SPDX-License-Identifier: MIT
// Attention on the simt device under many interleavings of lanes.
#pragma once

#include "tegula/exploration.h"
#include "workload/attention_arrays.h"
#include "workload/attention_run.h"

#include <cstdint>
#include <span>

namespace tegula::tools {

struct AttentionExploration : Exploration {
  double forward_ms = 0, backward_ms = 0; ///< Times of the first interleaving.
  AttentionArrays arrays;                 ///< Results of the first interleaving.
};

/// Explores attention: see exploration.h.
Expected<AttentionExploration> explore(const AttentionRun &run, std::span<const AttentionRun> others,
                                       SimtDevice &device, const ExplorationOptions &options, uint64_t seed,
                                       bool backward);

} // namespace tegula::tools
