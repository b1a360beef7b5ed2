// SPDX-License-Identifier: MIT
// Attention on the simt device under many interleavings of lanes.
#pragma once

#include "tegula/exploration.h"
#include "workload/attention_arrays.h"
#include "workload/attention_run.h"

#include <cstdint>
#include <memory>
#include <span>

namespace tegula::tools {

struct AttentionExploration : Exploration {
  double forward_ms = 0, backward_ms = 0; ///< Times of the first interleaving.
  AttentionArrays arrays;                 ///< Results of the first interleaving.
};

/// Returns the forward pass and, with `backward`, the backward pass, as a run to explore. `run` must outlive it.
std::unique_ptr<Explored> exploredAttention(const AttentionRun &run, bool backward);

/// Explores attention: see exploration.h.
Expected<AttentionExploration> explore(const AttentionRun &run, std::span<const AttentionRun> others,
                                       SimtDevice &device, const ExplorationOptions &options, uint64_t seed,
                                       bool backward);

} // namespace tegula::tools
