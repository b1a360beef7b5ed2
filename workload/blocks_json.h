// SPDX-License-Identifier: MIT
// Given blocks as JSON: the file of `tegula attention --blocks`, and what the tuner sends to the process that measures.
#pragma once

#include "tegula/status.h"
#include "workload/given_blocks.h"

#include <string>

namespace tegula::tools {

/// Reads the lists of FlexAttention's BlockMask from JSON, for a problem of this shape: an object with `kv_num_blocks`
/// and `kv_indices` and, unless there are no full blocks, `full_kv_num_blocks` and `full_kv_indices`. `BLOCK_SIZE` is
/// [128, 128] if it is left out. The transposed lists may be there, too. The error names the entry that is wrong, what
/// it is and what is legal.
Expected<GivenBlocks> parseBlocks(const std::string &text, const AttentionShape &shape);

/// Returns an object that parseBlocks() reads.
std::string toJson(const GivenBlocks &blocks);

} // namespace tegula::tools
