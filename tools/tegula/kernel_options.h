// SPDX-License-Identifier: MIT
// The options that say which kernel of attention is meant, shared by commands.
#pragma once

#include "tegula/attention.h"

#include <cstdint>
#include <optional>

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
};

void addKernelOptions(CLI::App &command, KernelOptions &options);

AttentionProblem problemOf(const KernelOptions &options);

} // namespace tegula::tools
