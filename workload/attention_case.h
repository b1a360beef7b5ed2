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
  oracle::Family family = oracle::Family::normal; ///< The family of values of q, k and v.
  uint64_t seed = 0;
  Schedule schedule = {};                ///< The library chooses fields that are 0.
  const NamedVariant *variant = nullptr; ///< The maker of the problem's variant; null if it has none or no name.
  /// Returns the values of a tensor of the problem's variant, in C order. If the function is empty, or returns nothing,
  /// the tensor holds normally distributed values.
  std::function<std::vector<float>(std::string_view tensor, const std::vector<int64_t> &shape)> variant_values = {};
  RowGaps row_gaps = {};
};

oracle::Shape oracleShape(const AttentionCase &attention);
/// Returns the sizes of the oracle's shape that launches differ in.
AttentionShape attentionShape(const oracle::Shape &shape);

/// Floating-point operations by the convention of the FlashAttention papers: two matrix products forward, halved if
/// causal, and 2.5 times as many backward.
double forwardFlops(const AttentionCase &attention);
double backwardFlops(const AttentionCase &attention);

} // namespace tegula::tools
