// SPDX-License-Identifier: MIT
// Tests of dropout. The oracle draws its own random numbers, so other elements dropped would be errors of the results.
#include "harness/case.h"
#include "harness/machine.h"
#include "oracle/philox.h"
#include "support/test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <span>

namespace tegula::testing {
namespace {

using ::testing::HasSubstr;

Case caseOf(DType dtype, int64_t queries, int64_t keys) {
  return {.dtype = dtype,
          .shape = {.batch = 2,
                    .heads = 4,
                    .kv_heads = 2,
                    .seqlen_q = queries,
                    .seqlen_k = keys,
                    .head_dim = 32,
                    .value_dim = 24},
          .dropout_p = 0.25};
}

TEST(Dropout, EveryElementTypeMaskAndLength) {
  for (auto [dtype, causal] : kTypesAndMasks)
    for (auto [queries, keys] : {std::pair{50, 50}, {33, 70}, {70, 33}, {1, 40}}) {
      Case c = caseOf(dtype, queries, keys);
      c.causal = causal;
      EXPECT_EQ(runCase(c), "");
    }
}

TEST(Dropout, EveryProbability) {
  for (double p : {0.003, 0.1, 0.5, 0.9, 0.997}) {
    Case c = caseOf(bf16, 50, 90);
    c.dropout_p = p;
    EXPECT_EQ(runCase(c), "");
  }
}

/// Tiles of other sizes drop the same elements, also if they do not begin at multiples of 16.
TEST(Dropout, EveryTile) {
  for (auto [rows, keys, variant] : {std::tuple{16, 16, "window"},
                                     {64, 32, "none"},
                                     {32, 64, "window"},
                                     {48, 80, "none"},
                                     {24, 40, "window"},
                                     {128, 64, "none"}}) {
    Case c = caseOf(f16, 100, 150);
    c.causal = Causal::top_left;
    c.variant = variant;
    c.schedule.block_m = rows;
    c.schedule.block_n = keys;
    EXPECT_EQ(runCase(c), "");
  }
}

TEST(Dropout, VariantsAndTheirGradients) {
  for (const char *variant : {"softcap", "bias", "bias+softcap", "alibi_br", "documents"}) {
    Case c = caseOf(f32, 33, 70);
    c.variant = variant;
    EXPECT_EQ(runCase(c), "");
  }
}

TEST(Dropout, GradientOfLse) {
  Case c = caseOf(bf16, 60, 70);
  c.lse_gradient = true;
  EXPECT_EQ(runCase(c), "");
}

TEST(Dropout, DeterministicGradientsHaveTheSameBits) {
  Case c = caseOf(bf16, 100, 150);
  c.causal = Causal::top_left;
  c.deterministic = true;
  EXPECT_EQ(runCase(c, nullptr, /*reruns=*/3), "");
}

/// A NaN among the values of a hidden key reaches no row, and one of a key that is seen reaches only its own rows.
TEST(Dropout, NanIsContained) {
  Case c = caseOf(bf16, 60, 60);
  c.causal = Causal::top_left;
  c.contain_nonfinite = true;
  c.backward = false;
  Tensors t = makeTensors(c), clean = makeTensors(c);
  ASSERT_EQ(launch(c, clean).message(), "");
  const oracle::Shape &s = c.shape;
  for (int64_t head = 0; head < s.batch * s.kv_heads; ++head)
    t.inputs.v[size_t((head * s.seqlen_k + 40) * s.value_dim)] = std::numeric_limits<float>::quiet_NaN();
  t.v = TestTensor(c.dtype, {s.batch, s.kv_heads, s.seqlen_k, s.value_dim}, c.layout, c.poison, t.inputs.v);
  ASSERT_EQ(launch(c, t).message(), "");
  const std::vector<float> o = t.o.numbers(), expected = clean.o.numbers();
  for (size_t n = 0; n < o.size(); ++n)
    if (int64_t(n) / s.value_dim % s.seqlen_q < 40 || int64_t(n) % s.value_dim != 0) {
      // A GPU computes rows of a block with NaN again, in f32.
      ASSERT_NEAR(o[n], expected[n], 0x1p-7 * std::abs(expected[n]) + 0x1p-7) << n;
    }
}

TEST(Dropout, SeedAndOffsetDecide) {
  Case c = caseOf(f32, 40, 50);
  c.backward = false;
  Tensors t = makeTensors(c);
  auto output = [&](int64_t seed, int64_t offset) {
    const std::array<int64_t, 2> numbers = {seed, offset};
    t.dropout_state = TestTensor(i64, {2}, Layout::contiguous, Poison::ones, std::as_bytes(std::span(numbers)));
    EXPECT_EQ(launch(c, t).message(), "");
    return t.o.numbers();
  };
  const std::vector<float> first = output(5, 1);
  EXPECT_EQ(output(5, 1), first);
  EXPECT_NE(output(5, 2), first);
  EXPECT_NE(output(6, 1), first);
  EXPECT_NE(output(5, 1 + (int64_t{1} << 32)), first);
}

/// The mask program writes what the oracle draws.
TEST(Dropout, MaskProgram) {
  constexpr int64_t kBatch = 2, kHeads = 3, kQueries = 40, kKeys = 70;
  const AttentionConfig config{
      .dtype = bf16, .head_dim = 16, .value_dim = 16, .block_m = 32, .block_n = 64, .kept_of_256 = 200};
  const Program program = valueOf(recordDropoutMask(config));
  const std::shared_ptr<Kernel> kernel = valueOf(machine().cache->get(program.text));
  const std::array<int64_t, 2> numbers = {-3, int64_t{1} << 40};
  auto tensor = [](DType dtype, std::vector<int64_t> shape) {
    return TestTensor(dtype, std::move(shape), Layout::contiguous, Poison::ones);
  };
  const TestTensor q = tensor(bf16, {kBatch, kHeads, kQueries, 16}), k = tensor(bf16, {kBatch, 1, kKeys, 16});
  const TestTensor keep = tensor(DType::i8, {kBatch, kHeads, kQueries, kKeys});
  const TestTensor state(i64, {2}, Layout::contiguous, Poison::ones, std::as_bytes(std::span(numbers)));
  ASSERT_EQ(kernel->launch({2, kHeads, kBatch}, {q.ref(), k.ref(), keep.ref(), state.ref()}).message(), "");
  require(machine().device->synchronize());
  const std::vector<std::byte> bits = keep.bits();
  for (size_t n = 0; n < bits.size(); ++n) {
    const auto key = uint32_t(n % kKeys), query = uint32_t(n / kKeys % kQueries);
    const oracle::RandomKey random{numbers[0], numbers[1], int32_t(n / (kKeys * kQueries))};
    ASSERT_EQ(int(bits[n]), int(oracle::randomByte(random, query, key, 7) < 200)) << n;
  }
  EXPECT_TRUE(keep.surroundingsIntact());
  EXPECT_THAT(recordDropoutMask({.block_m = 32, .block_n = 32}).status().message(), HasSubstr("set dropout_p"));
}

//===-- Errors ---------------------------------------------------------------------------------------------------===//

std::string errorOf(const AttentionProblem &problem) {
  return AttentionPlan::make(problem, *machine().cache).status().message();
}

TEST(Dropout, IllegalProbabilitiesAreRefused) {
  for (double p : {-0.1, 0.0001, 0.9999, 1.0, 2.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THAT(
        errorOf({.head_dim = 64, .value_dim = 64, .dropout_p = p}),
        HasSubstr("argument 'dropout_p': it is " + std::to_string(p) + "; it must be 0, or from 0.002 to 0.998"));
  for (Algorithm algorithm : {Algorithm::standard, Algorithm::flash1})
    EXPECT_THAT(errorOf({.algorithm = algorithm, .head_dim = 64, .value_dim = 64, .dropout_p = 0.5}),
                HasSubstr("this algorithm has no dropout; flash2 has it"));
}

TEST(Dropout, TheStateIsChecked) {
  Case c = caseOf(f32, 8, 8), without = c;
  without.dropout_p = 0;
  Tensors t = makeTensors(c);
  t.dropout_state = TestTensor();
  EXPECT_THAT(launch(c, t).message(),
              HasSubstr("argument 'dropout_state': it is missing, but 'dropout_p' is set in the plan's problem"));
  t.dropout_state = TestTensor({2}, Layout::contiguous, Poison::ones, std::vector<int32_t>{1, 2});
  EXPECT_THAT(launch(c, t).message(), HasSubstr("argument 'dropout_state': its element type is i32; it must be i64"));
  t.dropout_state = TestTensor(i64, {3}, Layout::contiguous, Poison::ones);
  EXPECT_THAT(launch(c, t).message(), HasSubstr("argument 'dropout_state': its size 0 is 3; it must be [2]"));
}

} // namespace
} // namespace tegula::testing
