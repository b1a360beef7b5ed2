// SPDX-License-Identifier: MIT
// Options that select a kernel of attention, which commands share.
#pragma once

#include "workload/named_variants.h"

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace tegula::tools {

/// The options as the user gave them. An option that is empty follows from the others.
struct KernelOptions {
  int head_dim = 64;
  std::optional<int> value_dim;
  DType dtype = f32;
  Causal causal = Causal::none;
  bool contain_nonfinite = false;
  bool deterministic = false;
  BlockMask::Source block_mask = BlockMask::Source::none;
  double dropout = 0;                     ///< The probability of dropping an element of P.
  bool sinks = false;                     ///< As in AttentionProblem.
  std::optional<int64_t> diagonal_offset; ///< Added to the diagonal by each call.
  std::string variant;                    ///< One of variantNames(), or empty.
};

void addKernelOptions(CLI::App &command, KernelOptions &options);
void addVariantOption(CLI::App &command, KernelOptions &options);

/// Returns the problem of the options, without the variant.
AttentionProblem problemOf(const KernelOptions &options);

} // namespace tegula::tools
