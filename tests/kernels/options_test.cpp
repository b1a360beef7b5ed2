// SPDX-License-Identifier: MIT
// Tests every option of plain attention against the oracle.
#include "harness/case.h"

#include <gtest/gtest.h>

namespace tegula::testing {
namespace {

constexpr DType kDTypes[] = {f32, f16, bf16};
constexpr Causal kCausals[] = {Causal::none, Causal::top_left, Causal::bottom_right};
constexpr std::pair<int64_t, int64_t> kLengths[] = {{1, 1},   {1, 70},  {70, 1},  {33, 33},  {64, 64},
                                                    {31, 97}, {97, 31}, {65, 64}, {127, 130}};

Case small() {
  return {.schedule = {.block_m = 32, .block_n = 32},
          .shape = {.batch = 2, .heads = 2, .kv_heads = 2, .head_dim = 32, .value_dim = 32}};
}

void runAllLengths(Case c) {
  for (auto [queries, keys] : kLengths) {
    c.shape.seqlen_q = queries;
    c.shape.seqlen_k = keys;
    EXPECT_EQ(runCase(c), "");
  }
}

void runAllMasks(Case c) {
  for (DType dtype : kDTypes)
    for (Causal causal : kCausals) {
      c.dtype = dtype;
      c.causal = causal;
      runAllLengths(c);
    }
}

TEST(Flash2, AllElementTypesMasksAndLengths) { runAllMasks(small()); }

TEST(Flash1, AllElementTypesMasksAndLengths) {
  Case c = small();
  c.algorithm = Algorithm::flash1;
  c.backward = false;
  runAllMasks(c);
}

TEST(Standard, AllElementTypesMasksAndLengths) {
  Case c = small();
  c.algorithm = Algorithm::standard;
  c.backward = false;
  runAllMasks(c);
}

Case withDims(DType dtype, int64_t head_dim, int64_t value_dim) {
  Case c = small();
  c.dtype = dtype;
  c.schedule = {};
  c.causal = Causal::bottom_right;
  c.shape = {.batch = 1,
             .heads = 2,
             .kv_heads = 1,
             .seqlen_q = 101,
             .seqlen_k = 150,
             .head_dim = head_dim,
             .value_dim = value_dim};
  return c;
}

TEST(Flash2, HeadDimAndValueDimMayDiffer) {
  for (auto [head_dim, value_dim] : {std::pair{8, 8}, {8, 40}, {40, 8}, {72, 48}, {96, 64}, {80, 136}, {256, 248}})
    EXPECT_EQ(runCase(withDims(bf16, head_dim, value_dim)), "");
}

TEST(Flash2, HeadDimAndValueDimHaveAnySize) {
  for (auto [head_dim, value_dim] : {std::pair{1, 1}, {37, 37}, {100, 63}, {63, 100}, {320, 256}})
    for (DType dtype : {f32, bf16}) {
      Case c = withDims(dtype, head_dim, value_dim);
      c.shape.seqlen_q = 37;
      c.shape.seqlen_k = 70;
      EXPECT_EQ(runCase(c), "") << head_dim << ' ' << toString(dtype);
    }
}

TEST(Flash2, BlockSizesNeedNotBePowersOfTwo) {
  for (auto [block_m, block_n] : {std::pair{16, 48}, {48, 16}, {40, 24}, {96, 32}, {33, 17}, {1, 8}, {8, 1}}) {
    Case c = small();
    c.causal = Causal::top_left;
    c.schedule = {.block_m = block_m, .block_n = block_n};
    c.shape.seqlen_q = 50;
    c.shape.seqlen_k = 61;
    EXPECT_EQ(runCase(c), "");
  }
}

TEST(Flash2, GroupedQueryHeads) {
  for (auto [heads, kv_heads] : {std::pair{3, 3}, {4, 2}, {6, 2}, {5, 1}, {16, 2}, {8, 1}}) {
    Case c = small();
    c.causal = Causal::bottom_right;
    c.shape.heads = heads;
    c.shape.kv_heads = kv_heads;
    c.shape.seqlen_q = 40;
    c.shape.seqlen_k = 70;
    EXPECT_EQ(runCase(c), "");
  }
}

/// False beyond the limits of docs/kernels.md, where gradients have no digit that holds.
bool hasGradients(DType dtype, oracle::Family family) { return dtype == f32 || family != oracle::Family::far_down; }

TEST(Flash2, InputsThatBreakSoftmax) {
  for (DType dtype : kDTypes) {
    bool isCausal = dtype == f16;
    for (oracle::Family family : oracle::allFamilies()) {
      Case c = small();
      c.dtype = dtype;
      c.family = family;
      c.causal = isCausal ? Causal::bottom_right : Causal::none;
      c.backward = hasGradients(dtype, family);
      c.shape.seqlen_q = 65;
      c.shape.seqlen_k = 107;
      EXPECT_EQ(runCase(c), "");
      isCausal = !isCausal;
    }
  }
}

/// Scales at which lse / scale overflows. Softmax is uniform, and dV does not depend on the scale.
TEST(Flash2, SubnormalScales) {
  for (DType dtype : kDTypes)
    for (double sign : {1.0, -1.0}) {
      Case c = small();
      c.dtype = dtype;
      c.sharpness = sign * 1e-39;
      c.shape.seqlen_q = c.shape.seqlen_k = 65;
      Tensors t = makeTensors(c);
      ASSERT_EQ(launch(c, t).message(), "");
      std::vector<NamedError> errors = measure(c, t);
      std::erase_if(errors, [](const NamedError &e) { return e.name == "dq" || e.name == "dk"; }); // subnormal numbers
      EXPECT_EQ(check(t, errors), "") << toString(c);
    }
}

/// All scores of a row are far below 0. P is exp(S - LSE), and f32 numbers are far apart there.
TEST(Flash2, SteepSlopes) {
  Case c = small();
  c.dtype = f32;
  c.schedule = {};
  c.variant = "alibi_tl";
  c.slope = 1;
  c.shape = {.heads = 2, .kv_heads = 1, .seqlen_q = 1025, .seqlen_k = 255, .head_dim = 80, .value_dim = 80};
  EXPECT_EQ(runCase(c), "");
  c.causal = Causal::top_left;
  c.variant = "window_tl+softcap+alibi_tl";
  c.shape = {.heads = 2, .kv_heads = 1, .seqlen_q = 257, .seqlen_k = 129, .head_dim = 96, .value_dim = 64};
  EXPECT_EQ(runCase(c), "");
}

/// Scores are 15,000 to 30,000, which f32 rounds, and probabilities are exactly 1. The plain formula has no error here,
/// so an error of the exponents is an error of the results.
TEST(Flash2, InputsWithHugeExactScores) {
  for (DType dtype : kDTypes)
    for (int64_t head_dim : {88, 104, 160})
      for (uint64_t seed = 0; seed < 16; ++seed) {
        Case c = small();
        c.dtype = dtype;
        c.family = oracle::Family::one_hot;
        c.shape = {.seqlen_q = 3, .seqlen_k = 2, .head_dim = head_dim, .value_dim = 32};
        c.seed = seed;
        EXPECT_EQ(runCase(c), "");
      }
}

} // namespace
} // namespace tegula::testing
