// SPDX-License-Identifier: MIT
// Tests that --check accepts good results, and finds bad results at any position.
#include "workload/attention_check.h"

#include "oracle/inputs.h"
#include "workload/blocks_json.h"
#include "workload/crop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>

namespace tegula::tools {
namespace {

AttentionCase smallCase() {
  AttentionCase attention;
  attention.problem.dtype = f32;
  attention.problem.head_dim = 8;
  attention.problem.value_dim = 16;
  attention.problem.causal = Causal::bottom_right;
  attention.problem.backward = true;
  attention.shape = {.batch = 2, .heads = 6, .kv_heads = 3, .seqlen_q = 7, .seqlen_k = 5};
  attention.scale = 0.25f;
  return attention;
}

std::vector<float> toFloat(const std::vector<double> &x) { return {x.begin(), x.end()}; }

/// Returns numbers for the tensors of a case with a variant.
VariantArrays variantArrays(const AttentionCase &attention) {
  const AttentionShape &s = attention.shape;
  VariantArrays arrays;
  for (const VariantTensor &tensor : attention.problem.variant.tensors) {
    const std::vector<int64_t> shape = shapeOf(tensor, s);
    arrays.push_back(attention.variant_values(tensor.name, shape));
    if (arrays.back().empty())
      arrays.back() =
          oracle::normalNumbers(std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies()), f32, 3);
  }
  return arrays;
}

/// Returns random inputs, and exact results that are computed for all heads at once.
AttentionArrays exactArrays(const AttentionCase &attention) {
  oracle::Shape shape = oracleShape(attention);
  oracle::Rules rules;
  if (attention.problem.causal != Causal::none)
    oracle::addCausal(rules, shape, oracle::Corner::bottom_right);
  const VariantArrays tensors = variantArrays(attention);
  VariantGradients tensorGradients;
  for (size_t n = 0; n < tensors.size(); ++n)
    if (attention.problem.variant.tensors[n].wants_gradient)
      tensorGradients.emplace_back(tensors[n].size());
  if (attention.variant)
    attention.variant->checked(attention.problem).add_rules(rules, {shape, tensors, tensorGradients, attention.scale});
  oracle::Inputs inputs = oracle::makeInputs(shape, attention.scale, f32, oracle::Family::normal, 1);
  std::vector<float> d_o = oracle::normalNumbers(shape.sizeO(), f32, 2);
  oracle::Outputs outputs = oracle::forward(shape, rules, attention.scale, inputs);
  oracle::Gradients gradients = oracle::backward(shape, rules, attention.scale, inputs, d_o);
  VariantArrays ofTensors;
  for (const std::vector<double> &gradient : tensorGradients)
    ofTensors.push_back(toFloat(gradient));
  return {.q = inputs.q,
          .k = inputs.k,
          .v = inputs.v,
          .o = toFloat(outputs.o),
          .lse = toFloat(outputs.lse),
          .d_o = d_o,
          .dq = toFloat(gradients.dq),
          .dk = toFloat(gradients.dk),
          .dv = toFloat(gradients.dv),
          .sinks = {},
          .d_sinks = {},
          .variant = tensors,
          .variant_gradients = ofTensors};
}

TEST(AttentionCheck, AcceptsExactResults) {
  AttentionErrors errors = checkAttention(smallCase(), exactArrays(smallCase()));
  EXPECT_EQ(errors.forward.size(), 2u);
  EXPECT_EQ(errors.backward.size(), 3u);
  EXPECT_TRUE(verdict(errors).ok()) << verdict(errors).message();
}

TEST(AttentionCheck, FindsTheWorstRunOfSeveral) {
  const CheckedRun good{smallCase(), exactArrays(smallCase())};
  EXPECT_TRUE(verdict(checkAttention(std::vector{good, good})).ok());
  for (const float wrong : {1e3f, std::numeric_limits<float>::quiet_NaN()})
    for (size_t place : {0, 1}) {
      std::vector<CheckedRun> runs = {good, good};
      runs[place].arrays.dk.back() = wrong;
      const Status status = verdict(checkAttention(runs));
      EXPECT_NE(status.message().find("dk has"), std::string::npos) << status.message();
      EXPECT_EQ(status.message().find("dq has"), std::string::npos) << status.message();
    }
}

TEST(Crop, ReturnsTheElementsOfRanges) {
  const std::vector<float> array = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}; // [2, 3, 2]
  EXPECT_EQ(crop(array, {2, 3, 2}, {{0, 2}, {1, 2}, {0, 2}}), (std::vector<float>{2, 3, 8, 9}));
  EXPECT_EQ(crop(array, {2, 3, 2}, {{1, 2}, {1, 3}, {1, 2}}), (std::vector<float>{9, 11}));
  EXPECT_TRUE(crop(array, {2, 3, 2}, {{0, 2}, {3, 3}, {0, 2}}).empty());
}

TEST(AttentionCheck, KnowsEveryVariant) {
  for (const NamedVariant &variant : namedVariants()) {
    SCOPED_TRACE(variant.name);
    AttentionCase attention = smallCase();
    attention.problem.causal = Causal::none;
    const AttentionCase plain = attention;
    setVariant(attention, variant);
    AttentionArrays arrays = exactArrays(attention);
    EXPECT_TRUE(verdict(checkAttention(attention, arrays)).ok())
        << verdict(checkAttention(attention, arrays)).message();
    // The window is wider than the sequence, and so are the global tokens.
    if (variant.name == "sliding_window" || variant.name == "window_with_globals")
      continue;
    EXPECT_FALSE(verdict(checkAttention(plain, arrays)).ok());
  }
}

TEST(GivenBlocks, AreTheSameAfterJson) {
  const AttentionShape shape{.batch = 2, .heads = 1, .kv_heads = 1, .seqlen_q = 40, .seqlen_k = 70};
  const GivenBlocks blocks{.batch = 2,
                           .heads = 1,
                           .rows = 2,
                           .block_q = 32,
                           .block_k = 16,
                           .partial = {{4, 0}, {}, {1}, {3, 2}},
                           .full = {{1}, {2}, {}, {4}}};
  const GivenBlocks read = *parseBlocks(toJson(blocks), shape);
  EXPECT_EQ(read.partial, blocks.partial);
  EXPECT_EQ(read.full, blocks.full);
  EXPECT_EQ(std::tuple(read.batch, read.heads, read.rows, read.block_q, read.block_k), std::tuple(2, 1, 2, 32, 16));
  const GivenBlocks part = blocks.cropped({.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 32, .seqlen_k = 30});
  EXPECT_EQ(part.partial, GivenBlocks::Lists({{0}}));
  EXPECT_EQ(part.full, GivenBlocks::Lists({{1}}));
  EXPECT_TRUE(parseBlocks(toJson(part), {.batch = 1, .heads = 1, .seqlen_q = 32, .seqlen_k = 30}).ok());
}

/// Tiles may be smaller or larger than blocks.
TEST(GivenBlocks, ListTheTilesThatTouchThem) {
  const GivenBlocks blocks{.rows = 2, .block_q = 32, .block_k = 16, .partial = {{4}, {}}, .full = {{}, {2}}};
  const auto isListed = listedTiles(blocks, 70);
  EXPECT_TRUE(isListed({0, 32}, {64, 80}));
  EXPECT_TRUE(isListed({16, 17}, {0, 128}));
  EXPECT_FALSE(isListed({0, 32}, {0, 64}));
  EXPECT_FALSE(isListed({32, 64}, {48, 80}));
  EXPECT_TRUE(isListed({0, 64}, {47, 48}));
}

TEST(AttentionCheck, FindsAWrongGradientOfABias) {
  AttentionCase attention = smallCase();
  setVariant(attention, *findVariant("bias"));
  AttentionArrays arrays = exactArrays(attention);
  arrays.variant_gradients[0].back() += 0.01f;
  EXPECT_NE(verdict(checkAttention(attention, arrays)).message().find("dbias has"), std::string::npos);
}

TEST(AttentionCheck, FindsOneWrongNumberInAnyTensor) {
  const std::pair<const char *, std::vector<float> AttentionArrays::*> results[] = {{"o", &AttentionArrays::o},
                                                                                    {"lse", &AttentionArrays::lse},
                                                                                    {"dq", &AttentionArrays::dq},
                                                                                    {"dk", &AttentionArrays::dk},
                                                                                    {"dv", &AttentionArrays::dv}};
  for (auto [name, member] : results)
    for (float wrong : {0.001f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      AttentionArrays arrays = exactArrays(smallCase());
      (arrays.*member).back() += wrong;
      Status status = verdict(checkAttention(smallCase(), arrays));
      EXPECT_EQ(status.code(), ErrorCode::internal) << name;
      EXPECT_NE(status.message().find(std::string(name) + " has "), std::string::npos) << status.message();
    }
}

TEST(AttentionCheck, LooksAtGradientsOnlyWithABackwardPass) {
  AttentionCase attention = smallCase();
  attention.problem.backward = false;
  AttentionArrays arrays = exactArrays(attention);
  EXPECT_TRUE(checkAttention(attention, arrays).backward.empty());
}

TEST(AttentionCheck, AcceptsSizesOfZero) {
  for (int64_t AttentionShape::*size : {&AttentionShape::batch, &AttentionShape::seqlen_q, &AttentionShape::seqlen_k}) {
    AttentionCase attention = smallCase();
    attention.shape.*size = 0;
    EXPECT_TRUE(verdict(checkAttention(attention, exactArrays(attention))).ok());
  }
}

} // namespace
} // namespace tegula::tools
