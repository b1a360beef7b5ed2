// SPDX-License-Identifier: MIT
// Tests every ready-made variant, and combinations of variants, against the oracle.
#include "harness/case.h"
#include "support/test_device.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace tegula::testing {
namespace {

Case caseOf(const std::string &variant) {
  return {.variant = variant,
          .schedule = {.block_m = 32, .block_n = 16},
          .backward = !hasExtremeScores(variant),
          .shape = {.batch = 2, .heads = 4, .kv_heads = 2, .head_dim = 16, .value_dim = 24}};
}

void runAllLengths(Case c) {
  for (auto [queries, keys] : {std::pair{50, 50}, {33, 70}, {70, 33}, {1, 40}}) {
    c.shape.seqlen_q = queries;
    c.shape.seqlen_k = keys;
    EXPECT_EQ(runCase(c), "");
  }
}

TEST(Variants, EachOneForwardAndBackward) {
  for (std::string_view part : variantParts())
    for (DType dtype : {f32, bf16}) {
      Case c = caseOf(std::string(part));
      c.dtype = dtype;
      runAllLengths(c);
    }
}

TEST(Variants, EachOneWithCausalMask) {
  for (std::string_view part : variantParts()) {
    Case c = caseOf(std::string(part));
    c.causal = part.ends_with("_tl") ? Causal::top_left : Causal::bottom_right; // A problem has one diagonal.
    runAllLengths(c);
  }
}

TEST(Variants, EachOneOnTheOtherAlgorithms) {
  for (std::string_view part : variantParts())
    for (auto [algorithm, dtype] :
         {std::pair{Algorithm::standard, f32}, {Algorithm::flash1, f32}, {Algorithm::flash1, bf16}}) {
      Case c = caseOf(std::string(part));
      c.algorithm = algorithm;
      c.dtype = dtype;
      c.backward = false;
      runAllLengths(c);
    }
}

TEST(Variants, Combinations) {
  for (const char *name :
       {"softcap+alibi_br", "bias+softcap", "softcap+bias", "window_br+documents", "documents+prefix_br",
        "ids+documents+softcap", "prefix_tl+softcap+bias", "alibi_tl+window_tl+documents+bias"})
    runAllLengths(caseOf(name));
}

/// Sets the bounds of two documents of 32 tokens, or an empty prefix. Queries 0 to 31 then see no key from 32 on.
void setBounds(Case &c, Tensors &t) {
  auto halves = [&](int32_t first, int32_t second) {
    std::vector<int32_t> bounds(64, first);
    std::fill(bounds.begin() + 32, bounds.end(), second);
    return TestTensor({1, 64}, c.layout, c.poison, bounds);
  };
  if (c.variant == "documents")
    for (int pair : {0, 2}) {
      t.variant.tensors[pair] = halves(0, 32);
      t.variant.tensors[pair + 1] = halves(32, 64);
    }
  else
    t.variant.tensors[0] = TestTensor({1}, c.layout, c.poison, std::vector<int32_t>{0});
}

/// Returns the output of the first 32 queries, and dv of the last 32 keys. The values of these keys and the upstream
/// gradients of these queries are `number`.
std::vector<float> resultsBeside(float number, Case c) {
  constexpr size_t half = 32 * 16;
  Tensors t = makeTensors(c);
  setBounds(c, t);
  std::fill(t.inputs.v.begin() + half, t.inputs.v.end(), number);
  std::fill(t.upstream.begin(), t.upstream.begin() + half, number);
  const std::vector<int64_t> shape = {1, 1, 64, 16};
  t.v = TestTensor(c.dtype, shape, c.layout, c.poison, t.inputs.v);
  t.d_o = TestTensor(c.dtype, shape, c.layout, c.poison, t.upstream);
  EXPECT_EQ(launch(c, t).message(), "");
  std::vector<float> o = t.o.numbers(), dv = t.dv.numbers();
  std::copy(dv.begin() + half, dv.end(), o.begin() + half);
  return o;
}

/// A masked key that is visited is multiplied by 0, and 0 times NaN is NaN.
TEST(Variants, BlocksOutsideOfARangeAreNotVisited) {
  if (!hasGpuCode())
    GTEST_SKIP() << "the cpu contains what it visits; tegula_kernels_test_simt runs this test";
  for (const char *variant : {"documents", "prefix_tl"})
    for (DType dtype : {f32, bf16}) {
      Case c = caseOf(variant);
      c.dtype = dtype;
      c.shape = {
          .batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 64, .seqlen_k = 64, .head_dim = 16, .value_dim = 16};
      EXPECT_EQ(resultsBeside(std::numeric_limits<float>::quiet_NaN(), c), resultsBeside(1, c)) << variant;
    }
}

/// A row that a mask of large negative biases hides whole has an LSE that does not determine P. Nothing becomes NaN.
TEST(Variants, GradientsOfHiddenRowsAreFinite) {
  for (DType dtype : {f32, f16, bf16}) {
    Case c = caseOf("bias_mask");
    c.dtype = dtype;
    c.backward = true;
    c.shape.seqlen_q = c.shape.seqlen_k = 50;
    Tensors t = makeTensors(c);
    ASSERT_EQ(launch(c, t).message(), "");
    for (TestTensor *output : {&t.o, &t.lse, &t.dq, &t.dk, &t.dv, &t.variant.gradients[0]})
      for (float x : output->numbers())
        ASSERT_TRUE(std::isfinite(x)) << toString(c);
  }
}

TEST(Variants, TheOrderOfScoreModificationsMatters) {
  Case c = caseOf("bias+softcap");
  c.shape.seqlen_q = c.shape.seqlen_k = 20;
  Tensors first = makeTensors(c);
  ASSERT_TRUE(launch(c, first).ok());
  c.variant = "softcap+bias";
  Tensors second = makeTensors(c);
  ASSERT_TRUE(launch(c, second).ok());
  EXPECT_NE(first.o.bits(), second.o.bits());
}

} // namespace
} // namespace tegula::testing
