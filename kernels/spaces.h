// SPDX-License-Identifier: MIT
// The search spaces of the kernels that have one. Each is defined next to its kernel.
#pragma once

#include "blocks.h"
#include "tegula/search_space.h"

#include <algorithm>

namespace tegula {

extern const SearchSpace kFlash2ForwardSpace;
extern const SearchSpace kFlash2BackwardSpace;

/// Returns true if a tensor of the variant has a 16-bit element for each score. If a producer loads its tiles, they lie
/// in shared memory with those of the keys.
inline bool hasTilesOfScores(const Variant &variant) {
  return std::any_of(variant.tensors.begin(), variant.tensors.end(), [](const VariantTensor &tensor) {
    const std::vector<Axis> &axes = tensor.axes;
    return axes.size() >= 2 && axes[axes.size() - 2] == Axis::seqlen_q && axes.back() == Axis::seqlen_k &&
           sizeOf(tensor.dtype) == 2;
  });
}

/// Returns the average number of blocks of keys that a block of queries visits, or the other way round. `positions` are
/// in blocks of `block`, and `rows` are in the block that visits them. A mask on one side leaves half of the blocks.
/// Masks on both sides leave those that a window touches.
inline double visitedBlocks(const AttentionProblem &problem, int64_t positions, int block, int rows) {
  constexpr int64_t unbounded = int64_t(1) << 40;
  int64_t left = unbounded, right = problem.causal == Causal::none ? unbounded : 0;
  for (const Band &band : problem.variant.bands) {
    left = std::min(left, band.left.value_or(unbounded));
    right = std::min(right, band.right.value_or(unbounded));
  }
  const double all = double(blocks(positions, block)), window = double(left + right + rows) / block + 1;
  return std::min(left + right < 2 * unbounded ? all / 2 : all, window);
}

} // namespace tegula
