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

void runLengths(Case c, std::initializer_list<std::pair<int, int>> lengths) {
  for (auto [queries, keys] : lengths) {
    c.shape.seqlen_q = queries;
    c.shape.seqlen_k = keys;
    EXPECT_EQ(runCase(c), "");
  }
}

void runAllLengths(const Case &c) { runLengths(c, {{50, 50}, {33, 70}, {70, 33}, {1, 40}}); }

TEST(Variants, EachOneForwardAndBackward) {
  for (std::string_view part : variantParts()) {
    Case c = caseOf(std::string(part));
    runAllLengths(c);
  }
}

TEST(Variants, EachOneWithCausalMaskInBf16) {
  for (std::string_view part : variantParts()) {
    Case c = caseOf(std::string(part));
    c.dtype = bf16;
    c.causal = part.ends_with("_tl") ? Causal::top_left : Causal::bottom_right; // A problem has one diagonal.
    runAllLengths(c);
  }
}

TEST(Variants, EachOneOnTheOtherAlgorithms) {
  for (std::string_view part : variantParts())
    for (auto [algorithm, dtype] :
         {std::pair{Algorithm::standard, f32}, {Algorithm::flash1, f32}, {Algorithm::flash1, bf16}}) {
      Case c = caseOf(std::string(part));
      if (makeVariant(part, dtype).probability) // Only flash2 has it.
        continue;
      c.algorithm = algorithm;
      c.dtype = dtype;
      c.backward = false;
      runAllLengths(c);
    }
}

TEST(Variants, Combinations) {
  for (const char *name :
       {"softcap+alibi_br", "bias+softcap", "softcap+bias", "window_br+documents", "documents+prefix_br",
        "ids+documents+softcap", "prefix_tl+softcap+bias", "alibi_tl+window_tl+documents+bias", "mask+window_br",
        "bias_f32+softcap", "mask+ids+alibi_tl", "product+softcap", "bias+product", "window_br+product_64+alibi_br"})
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

//===-- Diagonals and windows of a call --------------------------------------------------------------------------===//

TEST(Variants, ADiagonalIsMovedByEachCall) {
  for (const char *variant : {"none", "window_tl", "given_window_tl", "prefix_tl", "alibi_tl", "given_window_br",
                              "window_br+softcap", "alibi_br", "mask+given_window_br"})
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      Case c = caseOf(variant);
      c.dtype = seed % 2 ? bf16 : f32;
      c.seed = seed;
      c.diagonal_offset = true;
      c.causal = seed % 3                                                          ? Causal::none
                 : std::string_view(variant).find("_br") == std::string_view::npos ? Causal::top_left
                                                                                   : Causal::bottom_right;
      if (std::string_view(variant) == "none")
        c.causal = seed % 2 ? Causal::top_left : Causal::bottom_right;
      c.schedule.tile_scheduler = TileScheduler(seed % 3);
      runAllLengths(c);
    }
}

TEST(Variants, ADiagonalOfACallWorksWithTheOtherOptions) {
  Case c = caseOf("given_window_br");
  c.diagonal_offset = true;
  c.dropout_p = 0.25;
  c.deterministic = true;
  c.lse_gradient = true;
  for (BlockMask::Source source : {BlockMask::Source::none, BlockMask::Source::computed, BlockMask::Source::given})
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      c.block_mask.source = source;
      c.seed = seed;
      runAllLengths(c);
    }
  c = caseOf("window_tl");
  c.diagonal_offset = true;
  c.backward = false;
  for (Algorithm algorithm : {Algorithm::standard, Algorithm::flash1}) {
    c.algorithm = algorithm;
    runAllLengths(c);
  }
}

/// A diagonal far before all keys or far after them, beside the largest window: no sum overflows.
TEST(Variants, OffsetsBeyondAllPositionsCountAsTheNearestOnes) {
  for (const char *variant : {"none", "given_window_tl", "prefix_tl"})
    for (int32_t offset : {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
      Case c = caseOf(variant);
      c.causal = std::string_view(variant) == "none" ? Causal::top_left : Causal::none;
      c.diagonal_offset = true;
      c.shape.seqlen_q = c.shape.seqlen_k = 50;
      Tensors t = makeTensors(c);
      t.diagonal_offset = TestTensor({1}, c.layout, c.poison, std::vector<int32_t>{offset});
      for (TestTensor &tensor : t.variant.tensors)
        tensor = TestTensor({2}, c.layout, c.poison, std::vector<int32_t>(2, 1 << 30)); // Or prefixes of all keys.
      ASSERT_EQ(launch(c, t).message(), "");
      const std::vector<float> lse = t.lse.numbers();
      const bool seesAll = offset > 0 || std::string_view(variant) != "none";
      for (float x : lse)
        ASSERT_EQ(std::isfinite(x), seesAll) << toString(c) << offset;
      for (TestTensor *output : {&t.o, &t.dq, &t.dk, &t.dv})
        for (float x : output->numbers())
          ASSERT_TRUE(std::isfinite(x)) << toString(c);
    }
}

/// A masked key that is visited is multiplied by 0, and 0 times NaN is NaN.
TEST(Variants, TilesOutsideOfAGivenWindowAreNotVisited) {
  if (!hasGpuCode())
    GTEST_SKIP() << "the cpu contains what it visits; tegula_kernels_test_simt runs this test";
  Case c = caseOf("given_window_tl");
  c.diagonal_offset = true;
  c.backward = false;
  c.shape = {.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 32, .seqlen_k = 128, .head_dim = 16, .value_dim = 16};
  Tensors t = makeTensors(c);
  t.variant.tensors[0] = TestTensor({1}, c.layout, c.poison, std::vector<int32_t>{0});
  t.variant.tensors[1] = TestTensor({1}, c.layout, c.poison, std::vector<int32_t>{16});
  t.diagonal_offset = TestTensor({1}, c.layout, c.poison, std::vector<int32_t>{32}); // Keys 32 to 79.
  for (size_t n = 0; n < t.inputs.v.size(); ++n)
    if (n < 32 * 16 || n >= 80 * 16)
      t.inputs.v[n] = std::numeric_limits<float>::quiet_NaN();
  t.v = TestTensor(c.dtype, {1, 1, 128, 16}, c.layout, c.poison, t.inputs.v);
  ASSERT_EQ(launch(c, t).message(), "");
  for (float x : t.o.numbers())
    ASSERT_TRUE(std::isfinite(x));
}

/// The forward pass visits no tile beyond the intervals of its queries.
TEST(Variants, TilesOutsideOfKeyIntervalsAreNotVisited) {
  if (!hasGpuCode())
    GTEST_SKIP() << "the cpu contains what it visits; tegula_kernels_test_simt runs this test";
  Case c = caseOf("intervals");
  c.backward = false;
  c.shape = {.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 32, .seqlen_k = 128, .head_dim = 16, .value_dim = 16};
  Tensors t = makeTensors(c);
  t.variant.tensors[0] = TestTensor({1}, c.layout, c.poison, std::vector<int32_t>{32});
  t.variant.tensors[1] = TestTensor({1}, c.layout, c.poison, std::vector<int32_t>{80});
  for (size_t n = 0; n < t.inputs.v.size(); ++n)
    if (n < 32 * 16 || n >= 80 * 16)
      t.inputs.v[n] = std::numeric_limits<float>::quiet_NaN();
  t.v = TestTensor(c.dtype, {1, 1, 128, 16}, c.layout, c.poison, t.inputs.v);
  ASSERT_EQ(launch(c, t).message(), "");
  for (float x : t.o.numbers())
    ASSERT_TRUE(std::isfinite(x));
}

/// The gradients of a range without bounds of keys, alone and beside ranges that have them.
TEST(Variants, KeyIntervalsWithTheOtherOptions) {
  for (const char *variant : {"intervals", "intervals+documents", "prefix_br+intervals", "softcap+intervals"})
    for (BlockMask::Source source : {BlockMask::Source::none, BlockMask::Source::computed}) {
      Case c = caseOf(variant);
      c.deterministic = true;
      c.contain_nonfinite = true;
      c.block_mask.source = source;
      runAllLengths(c);
    }
}

TEST(Variants, OffsetsOfDiagonalsAreChecked) {
  Case c = caseOf("window_tl"), without = c;
  c.diagonal_offset = true;
  c.shape.seqlen_q = c.shape.seqlen_k = 8;
  Tensors t = makeTensors(c);
  const auto refusal = [&](TestTensor offset) {
    t.diagonal_offset = std::move(offset);
    return launch(c, t).message();
  };
  EXPECT_EQ(refusal(TestTensor()), "argument 'diagonal_offset': it is missing, but 'diagonal_offset' is set in the "
                                   "plan's problem; pass it, or make the plan without 'diagonal_offset'");
  EXPECT_EQ(refusal(TestTensor({3}, c.layout, c.poison, std::vector<int32_t>(3))),
            "argument 'diagonal_offset': its size 0 is 3; it must repeat to [batch] with batch = 2: it must be 1 or 2");
  EXPECT_EQ(refusal(TestTensor(i64, {1}, c.layout, c.poison)),
            "argument 'diagonal_offset': its element type is i64; it must be i32");
}

//===-- Tensors that repeat --------------------------------------------------------------------------------------===//

/// Every rank, every combination of sizes that are 1, and every kind of last size.
TEST(Variants, TensorsRepeatAsTheirShapesSay) {
  for (const char *variant : {"mask", "bias_f32"})
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      Case c = caseOf(variant);
      c.dtype = f16;
      c.seed = seed;
      c.layout = kLayouts[seed % std::size(kLayouts)];
      c.shape.seqlen_q = 40;
      c.shape.seqlen_k = 50;
      EXPECT_EQ(runCase(c), "");
    }
}

TEST(Variants, AMaskThatEndsEarlyHidesTheKeysBeyond) {
  for (int64_t length : {0, 1, 2, 31, 50}) {
    Case c = caseOf("mask");
    c.shape.seqlen_q = 3;
    c.shape.seqlen_k = 50;
    Tensors t = makeTensors(c);
    t.variant.tensors[0] =
        TestTensor(i8, {length}, Layout::contiguous, Poison::ones, std::vector<float>(size_t(length), 1));
    ASSERT_EQ(launch(c, t).message(), "");
    oracle::Rules rules;
    rules.visible.push_back([&](const oracle::Position &p) { return length == 1 || p.key < length; });
    const oracle::Outputs expected = oracle::forward(c.shape, rules, c.scale(), t.inputs);
    EXPECT_LE(oracle::measure(t.lse.numbers(), expected.lse, f32).worst, 1e-5) << length;
    EXPECT_LE(oracle::measure(t.o.numbers(), expected.o, f32).worst, 1e-5) << length;
  }
}

/// A mask hides a score that is NaN, as no bias does. A row whose keys are all hidden is 0.
TEST(Variants, AMaskHidesANan) {
  for (DType dtype : {f32, bf16}) {
    Case c = caseOf("mask");
    c.dtype = dtype;
    c.contain_nonfinite = true;
    c.shape = {.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 40, .seqlen_k = 50, .head_dim = 16, .value_dim = 16};
    Tensors t = makeTensors(c);
    std::vector<float> mask(40 * 50, 1);
    std::fill(mask.begin() + 7 * 50, mask.begin() + 8 * 50, 0.0f);
    t.variant.tensors[0] = TestTensor(i8, {40, 50}, Layout::contiguous, Poison::ones, mask);
    std::fill(t.inputs.q.begin() + 7 * 16, t.inputs.q.begin() + 8 * 16, std::numeric_limits<float>::quiet_NaN());
    t.q = TestTensor(dtype, {1, 1, 40, 16}, c.layout, c.poison, t.inputs.q);
    ASSERT_EQ(launch(c, t).message(), "");
    for (TestTensor *output : {&t.o, &t.dq, &t.dk, &t.dv})
      for (float x : output->numbers())
        ASSERT_TRUE(std::isfinite(x)) << toString(c);
    const std::vector<float> o = t.o.numbers(), lse = t.lse.numbers();
    EXPECT_TRUE(std::all_of(o.begin() + 7 * 16, o.begin() + 8 * 16, [](float x) { return x == 0; }));
    EXPECT_EQ(lse[7], -std::numeric_limits<float>::infinity());
    EXPECT_EQ(std::count_if(lse.begin(), lse.end(), [](float x) { return std::isfinite(x); }), 39);
  }
}

TEST(Variants, TensorsThatDoNotRepeatAreRefused) {
  Case c = caseOf("mask");
  c.shape.seqlen_q = 40;
  c.shape.seqlen_k = 50;
  Tensors t = makeTensors(c);
  const auto refusal = [&](DType dtype, std::vector<int64_t> shape) {
    t.variant.tensors[0] = TestTensor(dtype, std::move(shape), Layout::contiguous, Poison::ones);
    return launch(c, t).message();
  };
  EXPECT_EQ(refusal(i8, {}), "argument 'mask': it has rank 0; it must repeat to [batch, heads, seqlen_q, up_to_"
                             "seqlen_k], so its rank must be from 1 to 4");
  EXPECT_EQ(refusal(i8, {1, 2, 1, 1, 50}), "argument 'mask': it has rank 5; it must repeat to [batch, heads, seqlen_q, "
                                           "up_to_seqlen_k], so its rank must be from 1 to 4");
  EXPECT_EQ(refusal(i8, {3, 1, 1, 50}), "argument 'mask': its size 0 is 3; it must repeat to [batch, heads, seqlen_q, "
                                        "up_to_seqlen_k] with batch = 2: it must be 1 or 2");
  EXPECT_EQ(refusal(i8, {39, 50}), "argument 'mask': its size 0 is 39; it must repeat to [batch, heads, seqlen_q, up_"
                                   "to_seqlen_k] with seqlen_q = 40: it must be 1 or 40");
  EXPECT_EQ(refusal(i8, {51}), "argument 'mask': its size 0 is 51; it must repeat to [batch, heads, seqlen_q, up_to_"
                               "seqlen_k] with seqlen_k = 50: it must be from 0 to 50");
  EXPECT_EQ(refusal(i32, {50}), "argument 'mask': its element type is i32; it must be i8");
  c.variant = "bias";
  t = makeTensors(c);
  EXPECT_EQ(refusal(f32, {49}), "argument 'bias': its size 0 is 49; it must repeat to [batch, heads, seqlen_q, "
                                "seqlen_k] with seqlen_k = 50: it must be 1 or 50");
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
