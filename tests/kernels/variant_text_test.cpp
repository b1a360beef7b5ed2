// SPDX-License-Identifier: MIT
// Tests variants from text: they are the variants that the same expressions in C++ are.
#include "harness/machine.h"
#include "tegula/internal/program_text.h"
#include "tegula/variant_trial.h"

#include <cmath>
#include <gtest/gtest.h>

namespace tegula::testing {
namespace {

/// Returns the programs of both passes, without the lines of the operations.
std::string programs(const Variant &variant) {
  const AttentionProblem problem{.head_dim = 64, .value_dim = 64, .variant = variant, .backward = true};
  std::string texts;
  for (std::string_view name : programsOf(problem)) {
    const Expected<RecordedKernel> kernel = recordKernel(problem, name, machine().cache->target());
    EXPECT_TRUE(kernel) << kernel.status().message();
    texts += kernel ? withoutLocations(kernel->program.text) : "";
  }
  return texts;
}

void expectEqual(const std::string &text, Variant variant) {
  const std::string expected = programs(variant);
  EXPECT_EQ(programs(variantFromText(text)), expected);
  EXPECT_NE(expected, programs({})) << "the variant changes nothing";
}

TEST(VariantText, HasTheProgramsOfReadyMadeVariants) {
  expectEqual("variant 1\n"
              "score = 30.0 * fastTanh(score / 30.0)\n",
              softcap(30));
  Variant slopes = alibi(Alignment::top_left);
  slopes.peak.reset();
  expectEqual("variant 1\n"
              "tensor slopes f32[heads]\n"
              "\n"
              "distance = f32(abs(query - key))\n"
              "score = score - slopes[head] * distance\n",
              slopes);
  Variant bias = additiveBias(bf16);
  expectEqual("variant 1\n"
              "tensor bias bf16[batch, heads, seqlen_q, seqlen_k] gradient read_once broadcasts\n"
              "score = score + bias[batch, head, query, key]\n",
              bias);
}

TEST(VariantText, HasOneProgramWithTheSameLambdas) {
  Variant variant{.name = "own",
                  .tensors = {{.name = "is_open", .dtype = DType::i1, .axes = {Axis::any, Axis::seqlen_q}},
                              {.name = "table", .dtype = f16, .axes = {Axis::any}, .wants_gradient = true}}};
  variant.mask = [](const ScoreIndex &at, VariantViews tensors) -> Value {
    Value tile = at.key / 16 % 3;
    return ((at.key <= at.query) & !tensors[0].gather(at.batch, at.query)) | (tile == 1) |
           ((at.key ^ at.query) >> 2 == 0);
  };
  variant.score = [](Value score, const ScoreIndex &at, VariantViews tensors) -> Value {
    Value distance = at.query - at.key;
    Value wrapped = select(distance < 0, distance + tensors[1].dim(0), distance);
    return max(pow(score, 2) - 0.25, sigmoid(score)) + -exp2(score) * tensors[1].gather(wrapped);
  };
  expectEqual("variant 1\n"
              "tensor is_open i1[any, seqlen_q]\n"
              "tensor table f16[any] gradient\n"
              "mask = (key <= query & !is_open[batch, query]) | key / 16 % 3 == 1 | (key ^ query) >> 2 == 0\n"
              "distance = query - key\n"
              "wrapped = select(distance < 0, distance + size(table, 0), distance)\n"
              "unused = exp(score)\n"
              "score = max(pow(score, 2) - 0.25, sigmoid(score)) + -exp2(score) * table[wrapped]\n",
              variant);
}

TEST(VariantText, ModifiesScoresAndProbabilities) {
  Variant variant{.name = "own", .tensors = {{.name = "gate", .axes = {Axis::heads}, .wants_gradient = true}}};
  variant.score = [](Value score, const ScoreIndex &, VariantViews) -> Value { return 2.0 * score; };
  variant.probability = [](Value p, const ScoreIndex &at, VariantViews tensors) -> Value {
    return p * p * tensors[0].gather(at.head);
  };
  expectEqual("variant 1\n"
              "tensor gate f32[heads] gradient\n"
              "score = 2.0 * score\n"
              "probability = probability * probability * gate[head]\n",
              variant);
}

TEST(VariantText, LiteralsHaveTheirTypes) {
  Variant variant;
  variant.mask = [](const ScoreIndex &at, VariantViews) -> Value { return (at.query * 2.5 < 1e3) & true; };
  variant.score = [](Value score, const ScoreIndex &at, VariantViews) -> Value {
    return select(at.key + -3 > at.head, score, -INFINITY);
  };
  expectEqual("variant 1\n"
              "mask = query * 2.5 < 1e+3 & !false\n"
              "score = select(key + -3 > head, score, -inf)\n",
              variant);
}

/// T5's buckets of distances, with a learnt table, for tokens of the same document.
TEST(VariantText, IsRightWithTensorsAndGradients) {
  const AttentionShape shape{.batch = 2, .heads = 4, .kv_heads = 2, .seqlen_q = 70, .seqlen_k = 70};
  const int64_t buckets = 8;
  VariantValues table{.shape = {shape.heads, buckets}}, document{.shape = {shape.batch, shape.seqlen_k}};
  for (int64_t n = 0; n < shape.heads * buckets; ++n)
    table.values.push_back(float(n * 37 % 64) / 16 - 2);
  for (int64_t n = 0; n < shape.batch * shape.seqlen_k; ++n)
    document.values.push_back(float(n % shape.seqlen_k / 23));
  const auto element = [=](const ScorePosition &p) {
    return size_t(p.head * buckets + std::min(std::abs(p.query - p.key) / 4, buckets - 1));
  };
  VariantTrial trial;
  trial.shape = shape;
  trial.tensors = {table, document};
  trial.problem = {.dtype = f32, .head_dim = 16, .value_dim = 16, .causal = Causal::top_left, .backward = true};
  trial.problem.variant = variantFromText("variant 1\n"
                                          "tensor table f32[heads, any] gradient\n"
                                          "tensor document i32[batch, any]\n"
                                          "score = score + table[head, min(abs(query - key) / 4, 7)]\n"
                                          "mask = document[batch, query] == document[batch, key]\n");
  trial.plain = {.sees = [](const ScorePosition &p) { return p.query / 23 == p.key / 23; },
                 .score = [=](double s, const ScorePosition &p) { return s + table.values[element(p)]; },
                 .backward =
                     [=](double, const ScorePosition &p, double gradient, TensorGradients &tensors) {
                       tensors.add(0, element(p), gradient);
                       return gradient;
                     }};
  const Expected<VariantReport> report = tryVariant(trial, *machine().cache, machine().device);
  ASSERT_TRUE(report) << report.status().message();
  EXPECT_EQ(report->ratios.size(), 6u);
  EXPECT_EQ(verdict(*report).message(), "");
}

TEST(VariantText, ErrorsHaveTheirLineAndColumn) {
  const char *const legal =
      "; there are score, probability, batch, head, query, key, seqlen_q, seqlen_k, true, false, inf, nan, and "
      "the names of earlier lines";
  const std::string tooDeep = "x = " + std::string(61, '(') + "1" + std::string(61, ')');
  const std::pair<std::string, std::string> cases[] = {
      {"mask = key <= qeury", "line 2, column 15: 'qeury' is not defined" + std::string(legal)},
      {"x = 1\n\n  y = x + z\nz = 2", "line 4, column 11: 'z' is not defined" + std::string(legal)},
      {"score = score + key <= query", "line 2, column 9: 'score' is a condition; it must be a number, such as f32(x)"},
      {"score = key", "line 2, column 9: 'score' is an integer; it must be a number, such as f32(x)"},
      {"mask = key - query", "line 2, column 8: 'mask' is an integer; it must be a condition, such as x != 0"},
      {"mask = score > 0", "line 2, column 8: 'mask' depends on 'score'; it may depend on positions and tensors only"},
      {"mask = key < query < 3", "line 2, column 20: '<' is given a condition and an integer; it takes numbers and "
                                 "integers; select(c, 1, 0) makes an integer of a condition"},
      {"probability = 2.0 * probability + score",
       "line 2, column 15: 'probability' depends on 'score'; it may depend on probability, positions and tensors only"},
      {"score = score * probability",
       "line 2, column 9: 'score' depends on 'probability'; it may depend on score, positions and tensors only"},
      {"x = probability\nmask = x > 0.5",
       "line 3, column 8: 'mask' depends on 'probability'; it may depend on positions and tensors only"},
      {"x = score % 2", "line 2, column 11: '%' is given a number and an integer; it takes integers"},
      {"x = key == true", "line 2, column 9: '==' is given an integer and a condition; it takes numbers and integers, "
                          "or conditions"},
      {"x = select(key, 1, 2)",
       "line 2, column 5: 'select' is given an integer and an integer and an integer; it takes "
       "a condition, then numbers and integers, or conditions"},
      {"x = !key", "line 2, column 5: '!' is given an integer; it takes a condition, such as x == 0"},
      {"x = key << 32", "line 2, column 9: '<<' is given a literal count that is not from 0 to 31"},
      {"x = max(key)", "line 2, column 5: 'max' has 1 operands; it takes 2"},
      {"x = (key", "line 2, column 9: expected ')' after the expression"},
      {"x = key query", "line 2, column 9: expected an operator or the end of the line"},
      {"x = ", "line 2, column 5: expected a number, a name or an expression"},
      {"x = 3000000000",
       "line 2, column 5: integers must be at most 2147483647; write a number with a point, as 3e9 or "
       "3.0"},
      {"x = 1\nx = 2", "line 3, column 1: 'x' is defined already"},
      {"score = score\nscore = score", "line 3, column 1: 'score' is defined already"},
      {"exp = 1", "line 2, column 1: 'exp' has a meaning of its own; choose another name"},
      {"query = 1", "line 2, column 1: 'query' is defined already"},
      {"3 = 1", "line 2, column 1: expected a name; a line is 'tensor NAME TYPE[AXES]' or 'NAME = EXPRESSION'"},
      {"x: 1", "line 2, column 2: expected '=' after 'x'"},
      {"x = bias[head]",
       "line 2, column 5: 'bias' is no tensor; declare it on a line before, as: tensor bias f32[heads]"},
      {"tensor b f32[heads]\nx = b", "line 3, column 5: 'b' is a tensor; read an element, as b[head]"},
      {"tensor b f32[heads]\nx = b[head, 0]", "line 3, column 5: 'b' is read with 2 indices; it has 1 axes"},
      {"tensor b f32[heads]\nx = b[0.5]",
       "line 3, column 5: an index of 'b' is a number; it must be an integer, such as "
       "i32(x)"},
      {"tensor b f32[heads]\nx = size(b, 1)", "line 3, column 13: the axis must be an integer from 0 to 0"},
      {"tensor b f64[heads]",
       "line 2, column 10: expected the type of the tensor: f32, f16, bf16, e4m3, i64, i32, i8 or i1"},
      {"tensor b f32[rows]",
       "line 2, column 14: 'rows' is no axis; axes are batch, heads, kv_heads, seqlen_q, seqlen_k, "
       "any, up_to_seqlen_k"},
      {"tensor b i32[heads] gradient", "line 2, column 21: 'b' is i32; only tensors of floats have a gradient"},
      {"tensor b f32[heads] fast", "line 2, column 21: 'fast' is unknown; a tensor may have gradient, read_once and "
                                   "broadcasts"},
      {"tensor b f32[any, any, any, any, any, any]", "line 2, column 8: 'b' has 6 axes; it may have 5"},
      {tooDeep, "line 2, column 65: there are more than 60 parentheses, functions and signs around this; give a part a "
                "name on a line of its own"},
  };
  for (const auto &[text, message] : cases)
    EXPECT_EQ(variantFromText("variant 1\n" + text).status.message(), "variant text, " + message) << text;
  const Status unknown = variantFromText("variant 1\nx = sinh(score)").status;
  EXPECT_EQ(unknown.code(), ErrorCode::invalid_argument);
  EXPECT_TRUE(
      unknown.message().starts_with("variant text, line 2, column 5: 'sinh' is no function; functions are size, "
                                    "floorDiv, ceilDiv, min, "))
      << unknown.message();
  for (const char *text : {"", "score = score", "variant 2\nscore = score", "variant 10"})
    EXPECT_EQ(variantFromText(text).status.message(),
              "variant text, line 1, column 1: the text must begin with the line 'variant 1', the version of the text "
              "that this library reads")
        << text;
}

TEST(VariantText, AnErrorIsOneOfThePlan) {
  const AttentionProblem problem{.head_dim = 64, .value_dim = 64, .variant = variantFromText("variant 1\nmask = key")};
  EXPECT_EQ(AttentionPlan::make(problem, *machine().cache).status().message(),
            "variant text, line 2, column 8: 'mask' is an integer; it must be a condition, such as x != 0");
}

} // namespace
} // namespace tegula::testing
