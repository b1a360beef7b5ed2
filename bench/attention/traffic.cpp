// SPDX-License-Identifier: MIT
#include "bench/attention/traffic.h"

#include <algorithm>

namespace tegula::bench {
namespace {

using tools::AttentionCase;

constexpr double kF32 = 4;

int64_t blocks(int64_t length, int block) { return length <= 0 ? 0 : (length + block - 1) / block; }

/// The numbers of one head, and which of its blocks a mask leaves.
struct Head {
  int64_t queries, keys, shift;
  double q_row, v_row; ///< Bytes of a row of q or k, and of v or o.
  bool causal;

  explicit Head(const AttentionCase &attention)
      : queries(attention.shape.seqlen_q), keys(attention.shape.seqlen_k),
        shift(attention.problem.causal == Causal::bottom_right ? keys - queries : 0),
        q_row(double(attention.problem.head_dim) * double(sizeOf(attention.problem.dtype))),
        v_row(double(attention.problem.value_dim) * double(sizeOf(attention.problem.dtype))),
        causal(attention.problem.causal != Causal::none) {}

  /// Key rows that are loaded while the blocks of queries are walked through.
  double keyRows(const Schedule &schedule) const {
    double rows = 0;
    for (int64_t i = 0; i < queries; i += schedule.block_m) {
      int64_t end = causal ? std::min(keys, i + schedule.block_m + shift) : keys;
      rows += double(blocks(end, schedule.block_n) * schedule.block_n);
    }
    return rows;
  }

  /// Query rows that are loaded while the blocks of keys are walked through.
  double queryRows(const Schedule &schedule) const {
    double rows = 0;
    for (int64_t j = 0; j < keys; j += schedule.block_n) {
      int64_t begin = causal ? std::max<int64_t>(0, j - shift) : 0;
      rows += double(blocks(queries - begin, schedule.block_m) * schedule.block_m);
    }
    return rows;
  }
};

double standardTraffic(const Head &head, const AttentionPlan &plan) {
  double queries = double(head.queries), keys = double(head.keys), matrix = queries * keys * kF32;
  double score_blocks = double(blocks(head.queries, plan.schedule("standard_scores").block_m));
  double output_blocks = double(blocks(head.queries, plan.schedule("standard_output").block_m));
  double scores = queries * head.q_row + score_blocks * keys * head.q_row + matrix;
  double softmax = 3 * matrix + matrix + queries * kF32; // S is read for the maximum, the sum and P.
  double output = matrix + output_blocks * keys * head.v_row + queries * head.v_row;
  return scores + softmax + output;
}

double flash1Traffic(const Head &head, const AttentionCase &attention, const AttentionPlan &plan) {
  double state = 2 * kF32 + double(attention.problem.value_dim) * kF32; // m, l and the output so far, of one row.
  double visits = head.queryRows(plan.schedule("flash1_forward"));
  double once = double(head.keys) * (head.q_row + head.v_row) + double(head.queries) * (2 * state + head.v_row + kF32);
  return once + visits * (head.q_row + 2 * state);
}

double flash2Traffic(const Head &head, const AttentionPlan &plan) {
  return double(head.queries) * (head.q_row + head.v_row + kF32) +
         head.keyRows(plan.schedule("flash2_forward")) * (head.q_row + head.v_row);
}

} // namespace

double forwardTraffic(const AttentionCase &attention, const AttentionPlan &plan) {
  Head head(attention);
  double heads = double(attention.shape.batch) * double(attention.shape.heads);
  switch (attention.problem.algorithm) {
  case Algorithm::standard:
    return heads * standardTraffic(head, plan);
  case Algorithm::flash1:
    return heads * flash1Traffic(head, attention, plan);
  case Algorithm::flash2:
    return heads * flash2Traffic(head, plan);
  }
  return 0;
}

double backwardTraffic(const AttentionCase &attention, const AttentionPlan &plan) {
  Head head(attention);
  double accumulator = double(attention.problem.head_dim) * kF32; // Of dQ, one row.
  double heads = double(attention.shape.batch) * double(attention.shape.heads);
  double kv_heads = double(attention.shape.batch) * double(attention.shape.kv_heads);
  double queries = double(head.queries), keys = double(head.keys);
  double preprocess = queries * (2 * head.v_row + kF32 + accumulator);
  double visits = head.queryRows(plan.schedule("flash2_backward"));
  double main = visits * (head.q_row + head.v_row + 2 * kF32 + 2 * accumulator); // An addition loads and stores.
  double postprocess = queries * (accumulator + head.q_row);
  return heads * (preprocess + main + postprocess) + kv_heads * keys * 2 * (head.q_row + head.v_row);
}

} // namespace tegula::bench
