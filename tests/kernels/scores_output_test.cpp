// SPDX-License-Identifier: MIT
// Tests of scores and probabilities as a tensor.
#include "harness/case.h"
#include "harness/machine.h"
#include "oracle/exact_rows.h"
#include "support/test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tegula::testing {
namespace {

using ::testing::HasSubstr;

constexpr double infinity = std::numeric_limits<double>::infinity();

Case caseOf(const char *variant) {
  return {.causal = Causal::bottom_right,
          .variant = variant,
          .backward = false,
          .shape = {
              .batch = 2, .heads = 4, .kv_heads = 2, .seqlen_q = 37, .seqlen_k = 70, .head_dim = 32, .value_dim = 24}};
}

Expected<AttentionPlan> planWith(const Case &c, ScoresOutput output) {
  const Expected<AttentionPlan> plan = planFor(c);
  if (!plan)
    return plan.status();
  AttentionProblem problem = plan->problem();
  problem.scores_output = output;
  return AttentionPlan::make(problem, *machine().cache, c.schedule);
}

/// Returns the output of a forward pass.
std::vector<float> outputOf(const Case &c, Tensors &t, ScoresOutput output) {
  const Expected<AttentionPlan> plan = planWith(c, output);
  if (!plan) {
    ADD_FAILURE() << plan.status().message();
    return {};
  }
  const oracle::Shape &s = c.shape;
  TestTensor scores(f32, {s.batch, s.heads, s.seqlen_q, s.seqlen_k}, c.layout, c.poison);
  const std::vector<TensorRef> variant = t.variant.tensorRefs();
  const ScratchMemory memory(*plan->forwardWorkspace(
      {.batch = s.batch, .heads = s.heads, .kv_heads = s.kv_heads, .seqlen_q = s.seqlen_q, .seqlen_k = s.seqlen_k}));
  const Status status = plan->forward({.q = t.q.ref(),
                                       .k = t.k.ref(),
                                       .v = t.v.ref(),
                                       .o = t.o.ref(),
                                       .lse = t.lse.ref(),
                                       .scale = float(c.scale()),
                                       .variant_tensors = variant,
                                       .dropout_state = c.dropout_p != 0 ? t.dropout_state.ref() : TensorRef(),
                                       .sinks = c.sinks ? t.sinks.ref() : TensorRef(),
                                       .scores = scores.ref()},
                                      memory.get());
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(scores.surroundingsIntact());
  return scores.numbers();
}

/// Returns what a score's number must be, in 64 bits.
double expectedNumber(const Case &c, const Tensors &t, const oracle::Row &row, const oracle::ExactRow &exact,
                      int64_t key, ScoresOutput output) {
  if (output == ScoresOutput::products)
    return c.scale() *
           oracle::product(&t.inputs.q[row.q], &t.inputs.k[row.k + key * c.shape.head_dim], c.shape.head_dim);
  if (output == ScoresOutput::scores)
    return exact.s[key];
  return t.variant.exact.factorOfP(row.at(key)) == 0 ? -exact.p[key] : exact.p[key];
}

void expectRight(const Case &c) {
  SCOPED_TRACE(toString(c));
  for (ScoresOutput output : {ScoresOutput::products, ScoresOutput::scores, ScoresOutput::probabilities}) {
    Tensors t = makeTensors(c);
    const std::vector<float> found = outputOf(c, t, output);
    ASSERT_EQ(int64_t(found.size()), c.shape.sizeScores());
    double worst = 0;
    oracle::forEachRow(c.shape, [&](const oracle::Row &row) {
      const oracle::ExactRow exact = exactRow(c.shape, t.variant.exact, c.scale(), t.inputs, row);
      for (int64_t key = 0; key < c.shape.seqlen_k; ++key) {
        const double x = found[size_t(row.lse * c.shape.seqlen_k + key)];
        const double wanted = expectedNumber(c, t, row, exact, key, output);
        if (std::signbit(x) != std::signbit(wanted) && output == ScoresOutput::probabilities)
          worst = infinity;
        if (x != wanted)
          worst = std::max(worst, std::fabs(x - wanted) / (1 + std::fabs(wanted)));
      }
    });
    EXPECT_LT(worst, 2e-5) << int(output);
  }
}

TEST(ScoresOutput, OfMasksAndVariants) {
  for (const char *variant : {"none", "softcap", "bias+documents", "alibi_br+mask", "ids", "square"})
    expectRight(caseOf(variant));
}

TEST(ScoresOutput, OfOtherTypesAndLayouts) {
  for (DType dtype : {f16, bf16}) {
    Case c = caseOf("bias");
    c.dtype = dtype;
    c.layout = Layout::permuted;
    expectRight(c);
  }
}

TEST(ScoresOutput, ShowsWhatDropoutDropsAndWhatASinkTakes) {
  Case c = caseOf("none");
  c.dropout_p = 0.25;
  expectRight(c);
  c.sinks = true;
  expectRight(c);
}

TEST(ScoresOutput, OfOtherAlgorithms) {
  for (Algorithm algorithm : {Algorithm::standard, Algorithm::flash1}) {
    Case c = caseOf("softcap");
    c.algorithm = algorithm;
    expectRight(c);
  }
}

TEST(ScoresOutput, IsGivenExactlyIfThePlanWritesIt) {
  const Case c = caseOf("none");
  Tensors t = makeTensors(c);
  const auto message = [&](ScoresOutput output, TensorRef scores) {
    return planWith(c, output)
        ->forward(
            {.q = t.q.ref(), .k = t.k.ref(), .v = t.v.ref(), .o = t.o.ref(), .lse = t.lse.ref(), .scores = scores})
        .message();
  };
  EXPECT_THAT(message(ScoresOutput::scores, {}), HasSubstr("argument 'scores': it is missing, but 'scores_output' is"));
  EXPECT_THAT(message(ScoresOutput::none, t.lse.ref()), HasSubstr("argument 'scores': it is given, but"));
  EXPECT_THAT(message(ScoresOutput::scores, t.lse.ref()), HasSubstr("argument 'scores': "));
}

} // namespace
} // namespace tegula::testing
