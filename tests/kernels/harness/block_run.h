// SPDX-License-Identifier: MIT
// Random lists of blocks for a case with a given block mask, and the oracle's rule for the same blocks.
#pragma once

#include "oracle/oracle.h"
#include "support/test_tensor.h"
#include "tegula/attention.h"

#include <vector>

namespace tegula::testing {

/// The lists of one launch.
struct BlockRun {
  std::vector<TestTensor> tensors; ///< kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices; or none.

  BlockMaskTensors refs() const;
};

/// Makes lists of about half of the blocks, with entries that must be ignored. Adds the rule to `exact` and `plain`.
/// Blocks are listed as full only if `may_be_full`, because the rule knows no mask that a full block turns off.
BlockRun makeBlocks(const BlockMask &mask, const oracle::Shape &shape, bool may_be_full, Layout layout, Poison poison,
                    uint64_t seed, oracle::Rules &exact, oracle::Rules &plain);

} // namespace tegula::testing
