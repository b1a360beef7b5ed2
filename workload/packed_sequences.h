// SPDX-License-Identifier: MIT
// Sequences of any lengths that lie one after another in one batch entry.
#pragma once

#include "tegula/attention.h"

#include <cstdint>
#include <vector>

namespace tegula::tools {

struct PackedSequences {
  /// The first query of each sequence, and the end of the last one (cu_seqlens), and the same for keys. Both have as
  /// many numbers, which do not decrease.
  std::vector<int32_t> offsets_q, offsets_k;
  Causal causal = Causal::none; ///< The mask of each sequence: none or bottom_right.

  int64_t queries() const { return offsets_q.back(); } ///< The sum over all sequences.
  int64_t keys() const { return offsets_k.back(); }    ///< The same for keys.
};

/// Returns offsets from lengths.
std::vector<int32_t> offsetsOf(const std::vector<int32_t> &lengths);
/// Returns lengths from offsets.
std::vector<int32_t> lengthsOf(const std::vector<int32_t> &offsets);

/// Returns the number of scores of a head that exist in all sequences together.
double scoresSeen(const PackedSequences &sequences);

} // namespace tegula::tools
