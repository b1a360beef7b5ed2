// SPDX-License-Identifier: MIT
// One attention problem with its sizes, and what it costs.
#pragma once

#include "oracle/oracle.h"
#include "tegula/attention.h"

#include <cstdint>

namespace tegula::tools {

struct AttentionCase {
  AttentionProblem problem;
  AttentionShape shape;
  float scale = 0;
  uint64_t seed = 0;
  Schedule schedule = {}; ///< What is 0 is chosen by the library.
};

oracle::Shape oracleShape(const AttentionCase &attention);

/// Floating-point operations by the convention of the FlashAttention papers: two matrix products forward, halved if
/// causal, and 2.5 times as many backward.
double forwardFlops(const AttentionCase &attention);
double backwardFlops(const AttentionCase &attention);

} // namespace tegula::tools
