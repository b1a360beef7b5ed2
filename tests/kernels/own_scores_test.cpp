// SPDX-License-Identifier: MIT
// Tests functions of variants that tests write themselves: shapes of scores, and positions near the limit.
#include "harness/machine.h"
#include "support/test_device.h"
#include "support/test_tensor.h"

#include <cmath>
#include <gtest/gtest.h>

namespace tegula::testing {
namespace {

constexpr int kDim = 8;
constexpr int64_t kRows = 20;

using Score = decltype(Variant::score);

/// The results of a problem with one head of kRows queries and keys.
struct Results {
  std::vector<float> o, lse, dq, dk, dv;
};

/// Returns the numbers of an input.
std::vector<float> numbers(int seed) {
  std::vector<float> x(kRows * kDim);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float((i * 7 + size_t(seed)) % 11) / 8 - 0.5F;
  return x;
}

TestTensor tensorOf(std::vector<int64_t> shape, const std::vector<float> &numbers) {
  return {f32, std::move(shape), Layout::contiguous, Poison::nan, numbers};
}
TestTensor inputOf(int seed) { return tensorOf({1, 1, kRows, kDim}, numbers(seed)); }
TestTensor outputOf(std::vector<int64_t> shape) { return {f32, std::move(shape), Layout::contiguous, Poison::nan}; }

Results resultsOf(Score score, Algorithm algorithm) {
  AttentionProblem problem{.dtype = f32, .algorithm = algorithm, .head_dim = kDim, .value_dim = kDim};
  problem.variant.name = "own";
  problem.variant.score = std::move(score);
  problem.backward = algorithm == Algorithm::flash2;
  problem.contain_nonfinite = problem.backward;
  const Expected<AttentionPlan> plan = AttentionPlan::make(problem, *machine().cache, {.block_m = 16, .block_n = 16});
  if (!plan) {
    ADD_FAILURE() << plan.status().message();
    return {};
  }
  const std::vector<int64_t> matrix = {1, 1, kRows, kDim};
  const TestTensor q = inputOf(1), k = inputOf(2), v = inputOf(3), d_o = inputOf(4), o = outputOf(matrix),
                   lse = outputOf({1, 1, kRows}), dq = outputOf(matrix), dk = outputOf(matrix), dv = outputOf(matrix);
  const AttentionShape shape{.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = kRows, .seqlen_k = kRows};
  const ScratchMemory forward(*plan->forwardWorkspace(shape));
  Status status =
      plan->forward({.q = q.ref(), .k = k.ref(), .v = v.ref(), .o = o.ref(), .lse = lse.ref()}, forward.get());
  if (status.ok() && problem.backward) {
    const ScratchMemory backward(*plan->backwardWorkspace(shape));
    status = plan->backward({.q = q.ref(),
                             .k = k.ref(),
                             .v = v.ref(),
                             .o = o.ref(),
                             .lse = lse.ref(),
                             .d_o = d_o.ref(),
                             .dq = dq.ref(),
                             .dk = dk.ref(),
                             .dv = dv.ref()},
                            backward.get());
  }
  EXPECT_EQ(status.message(), "");
  return {o.numbers(), lse.numbers(), dq.numbers(), dk.numbers(), dv.numbers()};
}

/// Expects equal numbers. The programs differ, so ptxas may round the exponents of one in other places.
void expectNear(const std::vector<float> &x, const std::vector<float> &y) {
  const float tolerance = onGpu() ? 0x1p-20F : 0;
  ASSERT_EQ(x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_LE(std::abs(x[i] - y[i]), tolerance * std::abs(y[i])) << i << ": " << x[i] << " and " << y[i];
}

/// Expects the same results from a score that repeats and from one of each position.
void expectEqual(const Score &repeats, const Score &full) {
  for (Algorithm algorithm : {Algorithm::flash2, Algorithm::flash1, Algorithm::standard}) {
    const Results results = resultsOf(repeats, algorithm), expected = resultsOf(full, algorithm);
    expectNear(results.o, expected.o);
    expectNear(results.lse, expected.lse);
    if (algorithm == Algorithm::flash2) {
      EXPECT_EQ(results.dq, std::vector<float>(kRows * kDim));
      EXPECT_EQ(results.dk, std::vector<float>(kRows * kDim));
      expectNear(results.dv, expected.dv);
    }
  }
}

TEST(OwnScores, ThatAreScalarsRepeat) {
  expectEqual([](Value, const ScoreIndex &, VariantViews) { return constant(f32, 0.5); },
              [](Value score, const ScoreIndex &, VariantViews) { return 0.0 * score + 0.5; });
}

TEST(OwnScores, ThatAreRowsOrColumnsRepeat) {
  expectEqual([](Value, const ScoreIndex &at, VariantViews) { return cast(bf16, at.key) * 0.125; },
              [](Value score, const ScoreIndex &at, VariantViews) { return 0.0 * score + cast(f32, at.key) * 0.125; });
  expectEqual([](Value, const ScoreIndex &at, VariantViews) { return cast(f16, at.query); },
              [](Value score, const ScoreIndex &at, VariantViews) { return 0.0 * score + cast(f32, at.query); });
}

/// Returns o of queries that see the keys that a tensor of bytes says.
std::vector<float> resultWithBytes(DType dtype, BlockMask::Source blocks = BlockMask::Source::none) {
  AttentionProblem problem{.dtype = f32, .head_dim = kDim, .value_dim = kDim};
  problem.block_mask.source = blocks;
  problem.variant.name = "bytes";
  problem.variant.tensors = {{.name = "seen", .dtype = dtype, .axes = {Axis::seqlen_q, Axis::seqlen_k}}};
  problem.variant.mask = [](const ScoreIndex &at, VariantViews tensors) {
    Value seen = tensors[0].gather(at.query, at.key);
    return seen.dtype() == DType::i1 ? seen : seen != 0;
  };
  const Expected<AttentionPlan> plan = AttentionPlan::make(problem, *machine().cache, {.block_m = 16, .block_n = 16});
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  const TestTensor q = inputOf(1), k = inputOf(2), v = inputOf(3), o = outputOf({1, 1, kRows, kDim}),
                   lse = outputOf({1, 1, kRows});
  std::vector<int8_t> seen(kRows * kRows);
  for (size_t i = 0; i < seen.size(); ++i)
    seen[i] = int8_t(i * i % 5) - 1;
  const TestTensor bytes(i8, {kRows, kRows}, Layout::contiguous, Poison::ones, std::as_bytes(std::span(seen)));
  const TensorRef tensors[] = {bytes.ref()};
  ScratchMemory workspace(
      *plan->forwardWorkspace({.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = kRows, .seqlen_k = kRows}));
  const Status status = plan->forward(
      {.q = q.ref(), .k = k.ref(), .v = v.ref(), .o = o.ref(), .lse = lse.ref(), .variant_tensors = tensors},
      workspace.get());
  EXPECT_EQ(status.message(), "");
  return o.numbers();
}

TEST(OwnScores, AMaskReadsConditionsFromBytes) {
  EXPECT_EQ(resultWithBytes(DType::i1), resultWithBytes(i8));
  EXPECT_EQ(resultWithBytes(DType::i1, BlockMask::Source::computed), resultWithBytes(i8, BlockMask::Source::computed));
}

/// Sizes from which on positions do not fit are refused. Stride 0 lets all keys share one row.
constexpr int64_t kMostPositions = (int64_t{1} << 30) - 1024;

/// Returns o of one query that sees the last keys. Each key has the value 1, and what is no key has 0.
Expected<float> outputAtTheEnd(const Variant &variant, int64_t seqlen_k) {
  const Expected<AttentionPlan> plan =
      AttentionPlan::make({.dtype = f32, .head_dim = kDim, .value_dim = kDim, .variant = variant}, *machine().cache,
                          {.block_m = 16, .block_n = 64});
  if (!plan)
    return plan.status();
  std::vector<float> q(kDim), row(kDim, 1), o(kDim), lse(1);
  TensorRef keys = contiguous(row.data(), f32, {1, 1, seqlen_k, kDim});
  keys.strides[0] = keys.strides[1] = keys.strides[2] = 0;
  const Status status = plan->forward({.q = contiguous(q.data(), f32, {1, 1, 1, kDim}),
                                       .k = keys,
                                       .v = keys,
                                       .o = contiguous(o.data(), f32, {1, 1, 1, kDim}),
                                       .lse = contiguous(lse.data(), f32, {1, 1, 1})});
  if (!status.ok())
    return status;
  return o.front();
}

Variant lastKeys() {
  Variant variant{.name = "last_keys"};
  variant.ranges = {
      {[](Value, const HeadIndex &at, VariantViews) -> Interval { return {at.seqlen_k - 5, at.seqlen_k}; },
       [](Value, const HeadIndex &at, VariantViews) -> Interval { return {constant(DType::index, 0), at.seqlen_q}; }}};
  return variant;
}

TEST(OwnScores, OfTheLastPositionsAreRight) {
  if (hasGpuCode())
    GTEST_SKIP() << "the keys are in the host's memory";
  const Variant windows[] = {lastKeys(), slidingWindow(4, 0, Alignment::bottom_right),
                             slidingWindow(4, int64_t{1} << 30, Alignment::bottom_right)};
  for (const Variant &variant : windows)
    for (int64_t length : {kMostPositions, kMostPositions - 1, kMostPositions - 60}) {
      const Expected<float> o = outputAtTheEnd(variant, length);
      ASSERT_TRUE(o.ok()) << o.status().message();
      EXPECT_EQ(*o, 1) << variant.name << ", " << length;
    }
}

TEST(OwnScores, BeyondTheLastPositionsAreRefused) {
  for (int64_t length : {kMostPositions + 1, (int64_t{1} << 31) - 3}) {
    const Expected<float> o = outputAtTheEnd(lastKeys(), length);
    EXPECT_EQ(o.ok() ? std::to_string(*o) : o.status().message(),
              "argument 'seqlen_k': it is " + std::to_string(length) +
                  "; it must be at most 1073740800, because sums of positions in a kernel have 32 bits");
  }
}

} // namespace
} // namespace tegula::testing
