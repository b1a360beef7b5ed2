// SPDX-License-Identifier: MIT
// The problem that the cpu benchmark varies: batch 1, 8 heads, f32, no mask.
#pragma once

#include "bench.h"
#include "workload/attention_case.h"

#include <cmath>

namespace tegula::bench {

inline constexpr int64_t kHeads = 8;

inline tools::AttentionCase problem(int64_t seqlen, int head_dim) {
  tools::AttentionCase attention;
  attention.problem.dtype = f32;
  attention.problem.head_dim = attention.problem.value_dim = head_dim;
  attention.shape = {1, kHeads, kHeads, seqlen, seqlen};
  attention.scale = 1 / std::sqrt(float(head_dim));
  return attention;
}

} // namespace tegula::bench
