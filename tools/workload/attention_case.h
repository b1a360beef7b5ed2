// SPDX-License-Identifier: MIT
// One attention problem with its sizes, and what it costs.
#pragma once

#include "oracle/inputs.h"
#include "tegula/attention.h"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace tegula::tools {

struct NamedVariant;

/// Numbers between the rows of a tensor and of its gradient.
struct RowGaps {
  int64_t q = 0, k = 0, v = 0, o = 0;
};

struct AttentionCase {
  AttentionProblem problem;
  AttentionShape shape;
  float scale = 0;
  oracle::Family family = oracle::Family::normal; ///< Of q, k and v.
  uint64_t seed = 0;
  Schedule schedule = {};                ///< What is 0 is chosen by the library.
  const NamedVariant *variant = nullptr; ///< What made the problem's variant; null if there is none, or no name for it.
  /// What a tensor of the problem's variant holds, in C order. If it is empty, or gives nothing, normal numbers.
  std::function<std::vector<float>(std::string_view tensor, const std::vector<int64_t> &shape)> variant_values = {};
  RowGaps row_gaps = {};
};

oracle::Shape oracleShape(const AttentionCase &attention);

/// Floating-point operations by the convention of the FlashAttention papers: two matrix products forward, halved if
/// causal, and 2.5 times as many backward.
double forwardFlops(const AttentionCase &attention);
double backwardFlops(const AttentionCase &attention);

} // namespace tegula::tools
