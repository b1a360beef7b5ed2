// SPDX-License-Identifier: MIT
// Options that select a kernel of attention, which commands share.
#pragma once

#include "workload/named_variants.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tegula::tools {

/// The options as the user gave them. An option that is empty follows from the others.
struct KernelOptions {
  int head_dim = 64;
  std::optional<int> value_dim = {};
  DType dtype = f32;
  Causal causal = Causal::none;
  bool contain_nonfinite = false;
  bool deterministic = false;
  BlockMask::Source block_mask = BlockMask::Source::none;
  double dropout = 0;                          ///< The probability of dropping an element of P.
  bool sinks = false;                          ///< As in AttentionProblem.
  std::optional<int64_t> diagonal_offset = {}; ///< Added to the diagonal by each call.
  std::string variant = {};                    ///< One of variantNames(), or empty.
};

void addKernelOptions(CLI::App &command, KernelOptions &options);
/// Adds those of addKernelOptions that say what the elements of the tensors are.
void addElementOptions(CLI::App &command, KernelOptions &options);
void addSinksOption(CLI::App &command, KernelOptions &options);
/// `names` are those of the variants that the command has.
void addVariantOption(CLI::App &command, KernelOptions &options,
                      const std::vector<std::string> &names = variantNames());

/// Returns the error of a number of heads of k and v that does not divide that of query heads.
Status checkKvHeads(int64_t heads, int64_t kv_heads);

/// Returns the problem of the options, without the variant.
AttentionProblem problemOf(const KernelOptions &options);

} // namespace tegula::tools
