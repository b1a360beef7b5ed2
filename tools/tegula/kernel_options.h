// SPDX-License-Identifier: MIT
// The options that say which kernel of attention is meant, shared by commands.
#pragma once

#include "workload/named_variants.h"

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace tegula::tools {

/// As given by the user: what is empty follows from the rest.
struct KernelOptions {
  int64_t head_dim = 64;
  std::optional<int64_t> value_dim;
  DType dtype = f32;
  Causal causal = Causal::none;
  bool contain_nonfinite = false;
  std::string variant; ///< One of variantNames(), or empty.
};

void addKernelOptions(CLI::App &command, KernelOptions &options);
void addVariantOption(CLI::App &command, KernelOptions &options);

/// Without the variant.
AttentionProblem problemOf(const KernelOptions &options);

} // namespace tegula::tools
