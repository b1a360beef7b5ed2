// SPDX-License-Identifier: MIT
// Tests the oracle against definitions, identities and finite differences.
#include "oracle/inputs.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <utility>

namespace tegula::oracle {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const Shape kSmall{.batch = 2, .heads = 4, .kv_heads = 2, .seqlen_q = 5, .seqlen_k = 7, .head_dim = 8, .value_dim = 3};

double dotted(const std::vector<double> &a, const std::vector<float> &b) {
  double sum = 0;
  for (size_t n = 0; n < a.size(); ++n)
    sum += a[n] * b[n];
  return sum;
}

/// The gradients of a loss with respect to the forward pass's outputs. An empty d_lse stands for zeros.
struct Upstream {
  std::vector<float> d_o, d_lse;

  double loss(const Outputs &out) const { return dotted(out.o, d_o) + (d_lse.empty() ? 0 : dotted(out.lse, d_lse)); }
};

/// Returns d loss / d x[n] for element n of one of the inputs, by central differences.
double slope(const Shape &shape, const Rules &rules, Inputs inputs, const Upstream &upstream,
             std::vector<float> Inputs::*which, size_t n) {
  float x = (inputs.*which)[n], h = 0x1p-10f;
  (inputs.*which)[n] = x + h;
  double above = upstream.loss(forward(shape, rules, 0.5, inputs));
  (inputs.*which)[n] = x - h;
  double below = upstream.loss(forward(shape, rules, 0.5, inputs));
  return (above - below) / (2 * h);
}

void expectGradientsMatchSlopes(const Shape &shape, const Rules &rules, const std::vector<float> &d_lse = {}) {
  Inputs inputs = makeInputs(shape, 0.5, f16, Family::normal, 1);
  for (auto *x : {&inputs.q, &inputs.k, &inputs.v})
    for (float &number : *x)
      number = std::ldexp(std::round(std::ldexp(number, 8)), -8); // so that x + h and x - h are exact
  const Upstream upstream{normalNumbers(shape.sizeO(), f32, 2), d_lse};
  Gradients gradients = backward(shape, rules, 0.5, inputs, upstream.d_o, upstream.d_lse);
  using Pair = std::pair<std::vector<float> Inputs::*, std::vector<double> Gradients::*>;
  for (auto [input, gradient] :
       {Pair{&Inputs::q, &Gradients::dq}, Pair{&Inputs::k, &Gradients::dk}, Pair{&Inputs::v, &Gradients::dv}})
    for (size_t n = 0; n < (inputs.*input).size(); ++n)
      EXPECT_NEAR((gradients.*gradient)[n], slope(shape, rules, inputs, upstream, input, n), 1e-4) << "element " << n;
}

TEST(Exact, AUnionSeesWhatOneOfItsSetsSees) {
  std::vector<Rules> sets(2);
  addWindow(sets[0], kSmall, 1, 0, Corner::bottom_right);
  addGlobals(sets[1], kSmall, 3, Corner::bottom_right); // The key of query 0 is 2.
  Rules rules;
  addAnyOf(rules, sets);
  addCausal(rules, kSmall, Corner::bottom_right);
  const std::string expected[] = {"111....", "1111...", "11111..", "111.11.", "111..11"};
  for (int64_t query = 0; query < kSmall.seqlen_q; ++query)
    for (int64_t key = 0; key < kSmall.seqlen_k; ++key)
      EXPECT_EQ(rules.sees({0, 0, query, key}), expected[query][key] == '1') << query << ' ' << key;
}

/// Queries 0 and 1 see no key, and the third sink is none.
TEST(Exact, GradientsOfSinksMatchFiniteDifferences) {
  Shape shape = kSmall;
  std::swap(shape.seqlen_q, shape.seqlen_k);
  Rules rules;
  addCausal(rules, shape, Corner::bottom_right);
  rules.sinks = {0.5f, -2, -float(infinity), 3};
  const Upstream upstream{normalNumbers(shape.sizeO(), f32, 2), normalNumbers(shape.sizeLse(), f32, 3)};
  expectGradientsMatchSlopes(shape, rules);
  const Inputs inputs = makeInputs(shape, 0.5, f16, Family::normal, 1);
  const Outputs out = forward(shape, rules, 0.5, inputs);
  const Gradients gradients = backward(shape, rules, 0.5, inputs, upstream.d_o, upstream.d_lse);
  for (size_t head = 0; head < 4; ++head) {
    EXPECT_EQ(out.lse[head * size_t(shape.seqlen_q)], rules.sinks[head]);
    if (head == 2) {
      EXPECT_EQ(gradients.d_sinks[head], 0);
      continue;
    }
    Rules above = rules, below = rules;
    above.sinks[head] += 0x1p-10f;
    below.sinks[head] -= 0x1p-10f;
    // Rows without a key have lse = -inf in the third head, whose loss does not change.
    double change = 0;
    const Outputs high = forward(shape, above, 0.5, inputs), low = forward(shape, below, 0.5, inputs);
    for (size_t n = 0; n < high.o.size(); ++n)
      change += (high.o[n] - low.o[n]) * upstream.d_o[n];
    for (size_t n = 0; n < high.lse.size(); ++n)
      if (high.lse[n] != low.lse[n])
        change += (high.lse[n] - low.lse[n]) * upstream.d_lse[n];
    EXPECT_NEAR(gradients.d_sinks[head], change * 0x1p9, 1e-5);
  }
}

TEST(Exact, GradientsMatchFiniteDifferences) { expectGradientsMatchSlopes(kSmall, {}); }

Rules allRules() {
  Rules rules;
  addCausal(rules, kSmall, Corner::bottom_right);
  addWindow(rules, kSmall, 2, 0, Corner::bottom_right);
  addAlibi(rules, kSmall, {0.5f, 0.25f, 0.125f, 1.0f}, Corner::bottom_right);
  addSoftcap(rules, 2.0, f32);
  addBias(rules, kSmall, normalNumbers(2 * 4 * 5 * 7, f32, 3), nullptr);
  return rules;
}

TEST(Exact, GradientsMatchFiniteDifferencesWithAllRules) { expectGradientsMatchSlopes(kSmall, allRules()); }

TEST(Exact, GradientsOfLseMatchFiniteDifferences) {
  const std::vector<float> d_lse = normalNumbers(kSmall.sizeLse(), f32, 5);
  expectGradientsMatchSlopes(kSmall, {}, d_lse);
  expectGradientsMatchSlopes(kSmall, allRules(), d_lse);
}

TEST(Exact, BiasGradientMatchesFiniteDifferences) {
  std::vector<float> bias = normalNumbers(2 * 4 * 5 * 7, f16, 3);
  Inputs inputs = makeInputs(kSmall, 0.5, f32, Family::normal, 1);
  std::vector<float> d_o = normalNumbers(kSmall.sizeO(), f32, 2);
  std::vector<double> gradient(bias.size());
  Rules rules;
  addBias(rules, kSmall, bias, &gradient);
  addSoftcap(rules, 3.0, f32);
  backward(kSmall, rules, 0.5, inputs, d_o);
  auto lossWith = [&](size_t n, float change) {
    std::vector<float> changed = bias;
    changed[n] += change;
    Rules other;
    addBias(other, kSmall, changed, nullptr);
    addSoftcap(other, 3.0, f32);
    return dotted(forward(kSmall, other, 0.5, inputs).o, d_o);
  };
  for (size_t n = 0; n < bias.size(); n += 11)
    EXPECT_NEAR(gradient[n], (lossWith(n, 0x1p-10f) - lossWith(n, -0x1p-10f)) * 0x1p9, 1e-4);
}

TEST(Exact, EqualScoresGiveTheMeanOfV) {
  Inputs inputs = makeInputs(kSmall, 0.5, f32, Family::uniform, 1);
  Outputs out = forward(kSmall, {}, 0.5, inputs);
  for (double lse : out.lse)
    EXPECT_NEAR(lse, std::log(7.0), 1e-14);
  double mean = 0; // of batch 1, kv head 0, column 2
  for (int j = 0; j < 7; ++j)
    mean += inputs.v[((1 * 2 + 0) * 7 + j) * 3 + 2] / 7.0;
  EXPECT_NEAR(out.o[((1 * 4 + 1) * 5 + 3) * 3 + 2], mean, 1e-14); // query head 1 reads kv head 0
}

TEST(Exact, RowsWithoutKeysAreZero) {
  Shape shape = kSmall;
  std::swap(shape.seqlen_q, shape.seqlen_k); // 7 queries, 5 keys: the first two see none
  Rules rules;
  addCausal(rules, shape, Corner::bottom_right);
  Inputs inputs = makeInputs(shape, 1, f32, Family::normal, 1);
  Outputs out = forward(shape, rules, 1, inputs);
  EXPECT_EQ(out.lse[0], -infinity);
  EXPECT_EQ(out.lse[1], -infinity);
  EXPECT_GT(out.lse[2], -infinity);
  EXPECT_EQ(out.o[0], 0);
  for (const std::vector<float> &d_lse : {std::vector<float>(), normalNumbers(shape.sizeLse(), f32, 5)}) {
    Gradients gradients = backward(shape, rules, 1, inputs, normalNumbers(shape.sizeO(), f32, 2), d_lse);
    for (int n = 0; n < 2 * 8; ++n)
      EXPECT_EQ(gradients.dq[n], 0);
  }
}

TEST(Exact, NoKeysAtAll) {
  Shape shape = kSmall;
  shape.seqlen_k = 0;
  Inputs inputs = makeInputs(shape, 1, f32, Family::normal, 1);
  Outputs out = forward(shape, {}, 1, inputs);
  for (double o : out.o)
    EXPECT_EQ(o, 0);
  for (double lse : out.lse)
    EXPECT_EQ(lse, -infinity);
}

TEST(Exact, RowsOfTheScoreGradientSumToZeroThroughV) {
  // sum over keys of dV = sum over rows of dO, for one head.
  Shape shape{.seqlen_q = 4, .seqlen_k = 6, .head_dim = 8, .value_dim = 2};
  std::vector<float> d_o = normalNumbers(shape.sizeO(), f32, 2);
  Gradients gradients = backward(shape, {}, 1, makeInputs(shape, 1, f32, Family::normal, 1), d_o);
  for (int c = 0; c < 2; ++c) {
    double fromV = 0, fromO = 0;
    for (int j = 0; j < 6; ++j)
      fromV += gradients.dv[j * 2 + c];
    for (int i = 0; i < 4; ++i)
      fromO += d_o[i * 2 + c];
    EXPECT_NEAR(fromV, fromO, 1e-12);
  }
}

/// Returns a picture of the keys that each query sees: 'x' for a key that is seen, '.' for a hidden one.
std::string seenBy(const Rules &rules, int64_t queries = 3, int64_t keys = 5) {
  std::string picture;
  for (int64_t i = 0; i < queries; ++i, picture += ' ')
    for (int64_t j = 0; j < keys; ++j)
      picture += rules.sees({0, 0, i, j}) ? 'x' : '.';
  return picture;
}

TEST(Rules, MasksLookAsTheirNamesSay) {
  Shape shape{.seqlen_q = 3, .seqlen_k = 5};
  Rules topLeft, bottomRight, window, prefix, documents;
  addCausal(topLeft, shape, Corner::top_left);
  addCausal(bottomRight, shape, Corner::bottom_right);
  addWindow(window, shape, 1, 1, Corner::top_left);
  addPrefix(prefix, shape, {2}, Corner::top_left);
  addDocuments(documents, shape, {0, 1, 1}, {0, 0, 1, 2, 1});
  EXPECT_EQ(seenBy(topLeft), "x.... xx... xxx.. ");
  EXPECT_EQ(seenBy(bottomRight), "xxx.. xxxx. xxxxx ");
  EXPECT_EQ(seenBy(window), "xx... xxx.. .xxx. ");
  EXPECT_EQ(seenBy(prefix), "xx... xx... xxx.. ");
  EXPECT_EQ(seenBy(documents), "xx... ..x.x ..x.x ");
}

} // namespace
} // namespace tegula::oracle
