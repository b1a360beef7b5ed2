// SPDX-License-Identifier: MIT
// The search spaces of the kernels that have one. Each is defined next to its kernel.
#pragma once

#include "tegula/search_space.h"
#include "tile_counts.h"

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

} // namespace tegula
