// SPDX-License-Identifier: MIT
// A NaN or an infinity reaches the results that see it, and changes no other result.
#include "harness/case.h"
#include "oracle/convert.h"
#include "support/test_device.h"

#include <array>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

namespace tegula::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Returns a case with at most two blocks of keys: two additions to 0 have the same sum in either order.
Case caseOf(std::string variant, Causal causal, DType dtype) {
  return {
      .dtype = dtype,
      .causal = causal,
      .variant = std::move(variant),
      .schedule = {.block_m = 32, .block_n = 48},
      .shape = {.batch = 1, .heads = 4, .kv_heads = 2, .seqlen_q = 83, .seqlen_k = 90, .head_dim = 24, .value_dim = 40},
      .contain_nonfinite = hasGpuCode()}; // The cpu always contains them.
}

/// Rows of the tensors, in all heads, that get a NaN or an infinity.
struct Planted {
  std::vector<int64_t> q = {}, k = {}, v = {}, d_o = {};
};

/// The results that the planted rows may change.
class Reach {
public:
  Reach(const Case &c, const Planted &planted, const std::function<bool(int64_t, int64_t)> &sees)
      : query_(c.shape.seqlen_q), gradient_(c.shape.seqlen_q), key_(c.shape.seqlen_k) {
    auto isAmong = [](const std::vector<int64_t> &rows, int64_t row) {
      return std::find(rows.begin(), rows.end(), row) != rows.end();
    };
    for (int64_t i = 0; i < c.shape.seqlen_q; ++i) {
      bool seesAny = false;
      for (int64_t j = 0; j < c.shape.seqlen_k; ++j)
        if (sees(i, j)) {
          seesAny = true;
          query_[i] |= isAmong(planted.q, i) || isAmong(planted.k, j) || isAmong(planted.v, j);
        }
      gradient_[i] = seesAny && (query_[i] || isAmong(planted.d_o, i));
    }
    for (int64_t j = 0; j < c.shape.seqlen_k; ++j)
      for (int64_t i = 0; i < c.shape.seqlen_q; ++i)
        key_[j] |= sees(i, j) && gradient_[i];
  }

  const std::vector<char> &ofQueries() const { return query_; }           ///< o, lse
  const std::vector<char> &ofQueryGradients() const { return gradient_; } ///< dq, dbias
  const std::vector<char> &ofKeyGradients() const { return key_; }        ///< dk, dv

private:
  std::vector<char> query_, gradient_, key_;
};

/// Returns how much a result may differ that does not see the planted rows. On the cpu, hidden rows change no bit. On a
/// GPU, another kernel computes the results that 0 times NaN has reached. It rounds differently, and dq, dk and dv are
/// computed from these results.
double tolerance(const std::vector<float> &numbers, DType dtype) {
  if (!hasGpuCode())
    return 0;
  double largest = 0;
  for (float x : numbers)
    largest = std::isfinite(x) ? std::max(largest, std::fabs(double(x))) : largest;
  return 16 * oracle::unitRoundoff(dtype) * largest;
}

/// Compares the rows that are not reached. Returns how many numbers it compared.
size_t compareRows(const char *name, const TestTensor &dirty, const TestTensor &clean, DType dtype,
                   const std::vector<char> &reached, int64_t width) {
  std::vector<float> a = dirty.numbers(), b = clean.numbers();
  const double allowed = tolerance(b, dtype);
  size_t compared = 0, different = 0;
  for (size_t n = 0; n < a.size(); ++n)
    if (!reached[n / size_t(width) % reached.size()]) {
      ++compared;
      const bool isSame = std::memcmp(&a[n], &b[n], sizeof(float)) == 0 || std::fabs(a[n] - b[n]) < allowed;
      if (!isSame && different++ == 0)
        ADD_FAILURE() << name << ", row " << n / size_t(width) % reached.size() << ": " << a[n] << " instead of "
                      << b[n];
    }
  EXPECT_EQ(different, 0u) << name;
  return compared;
}

void plant(TestTensor &tensor, const Case &c, std::vector<float> numbers, int64_t heads, int64_t rows, int64_t width,
           const std::vector<int64_t> &planted, float number) {
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t row : planted)
      for (int64_t column = row % 3; column < width; column += 5)
        numbers[size_t((head * rows + row) * width + column)] = number;
  tensor = TestTensor(c.dtype, {1, heads, rows, width}, c.layout, c.poison, numbers);
}

void plantAll(Tensors &t, const Case &c, const Planted &planted, float number) {
  const oracle::Shape &s = c.shape;
  plant(t.q, c, t.inputs.q, s.heads, s.seqlen_q, s.head_dim, planted.q, number);
  plant(t.k, c, t.inputs.k, s.kv_heads, s.seqlen_k, s.head_dim, planted.k, number);
  plant(t.v, c, t.inputs.v, s.kv_heads, s.seqlen_k, s.value_dim, planted.v, number);
  plant(t.d_o, c, t.upstream, s.heads, s.seqlen_q, s.value_dim, planted.d_o, number);
}

using Sees = std::function<bool(int64_t, int64_t)>;

/// The numbers of elements of o, lse, dq, dk and dv that were compared.
using Counts = std::array<size_t, 5>;

/// Runs `c` with and without the planted rows, and compares the results that they must not reach. Adds to `counts`.
void expectContained(const Case &c, const std::function<Tensors()> &make, const Sees &sees, const Planted &planted,
                     float number, Counts &counts) {
  SCOPED_TRACE(toString(c) + " number=" + std::to_string(number));
  Tensors clean = make(), dirty = make();
  plantAll(dirty, c, planted, number);
  ASSERT_EQ(launch(c, clean).message(), "");
  ASSERT_EQ(launch(c, dirty).message(), "");
  const oracle::Shape &s = c.shape;
  const Reach reach(c, planted, sees);
  counts[0] += compareRows("o", dirty.o, clean.o, c.dtype, reach.ofQueries(), s.value_dim);
  counts[1] += compareRows("lse", dirty.lse, clean.lse, f32, reach.ofQueries(), 1);
  counts[2] += compareRows("dq", dirty.dq, clean.dq, c.dtype, reach.ofQueryGradients(), s.head_dim);
  counts[3] += compareRows("dk", dirty.dk, clean.dk, c.dtype, reach.ofKeyGradients(), s.head_dim);
  counts[4] += compareRows("dv", dirty.dv, clean.dv, c.dtype, reach.ofKeyGradients(), s.value_dim);
  for (size_t n = 0; n < dirty.variant.gradients.size(); ++n)
    compareRows("dbias", dirty.variant.gradients[n], clean.variant.gradients[n], c.dtype, reach.ofQueryGradients(),
                s.seqlen_k);
}

/// Runs `c` with each of `plantings`. Together they must leave rows of each result unreached, or nothing is compared.
void expectContained(const Case &c, const std::function<Tensors()> &make, const Sees &sees,
                     const std::vector<Planted> &plantings, float number) {
  Counts counts = {};
  for (const Planted &planted : plantings)
    expectContained(c, make, sees, planted, number, counts);
  for (size_t count : counts)
    EXPECT_GT(count, 0u) << toString(c);
}

Sees seesOf(const Case &c) {
  auto rules = std::make_shared<Tensors>(makeTensors(c));
  return [rules](int64_t i, int64_t j) { return rules->variant.exact.sees({0, 0, i, j}); };
}

void expectContained(const Case &c, float number) {
  expectContained(
      c, [&] { return makeTensors(c); }, seesOf(c),
      {{.k = {71}, .v = {70, 88}}, {.q = {3}, .d_o = {5}}, {.q = {3}, .k = {71}, .v = {86}, .d_o = {5}}}, number);
}

constexpr float kNumbers[] = {kNaN, kInfinity, -kInfinity};

/// Without NaN, results are as exact as those of the other kernels.
TEST(NonFinite, ContainedNumbersAreExact) {
  if (!hasGpuCode())
    GTEST_SKIP() << "the cpu has no other kernels; tegula_kernels_test_simt runs this test";
  for (DType dtype : {f32, f16, bf16})
    for (auto [variant, deterministic] : {std::pair{"none", dtype == f16}, {"softcap", dtype != f16}}) {
      Case c = caseOf(variant, Causal::top_left, dtype);
      c.deterministic = deterministic;
      EXPECT_EQ(runCase(c), "");
    }
}

TEST(NonFinite, HiddenRowsChangeNoBit) {
  const std::tuple<const char *, Causal, DType> masks[] = {
      {"none", Causal::top_left, f32},
      {"none", Causal::bottom_right, bf16},
      {"window_tl", Causal::none, bf16},
      {"prefix_tl", Causal::none, f32},
      {"documents", Causal::none, f32},
      {"ids", Causal::none, bf16},
      {"softcap", Causal::top_left, f32},
      {"alibi_tl", Causal::top_left, bf16},
      {"bias+softcap", Causal::bottom_right, f32},
      {"window_br+bias", Causal::none, bf16},
  };
  for (auto [variant, causal, dtype] : masks)
    for (float number : kNumbers)
      expectContained(caseOf(variant, causal, dtype), number);
}

TEST(NonFinite, HiddenRowsChangeNoBitInF16) {
  for (float number : kNumbers)
    expectContained(caseOf("none", Causal::top_left, f16), number);
}

/// A bias of -infinity hides values and upstream gradients. It does not hide a NaN in q k^T: the sum of the two is NaN.
TEST(NonFinite, BiasesOfMinusInfinityHideValues) {
  for (DType dtype : {f32, bf16})
    for (float number : kNumbers) {
      const Case c = caseOf("bias", Causal::none, dtype);
      auto make = [&] {
        Tensors t = makeTensors(c);
        const oracle::Shape &s = c.shape;
        std::vector<float> bias(size_t(s.heads * s.seqlen_q * s.seqlen_k));
        for (size_t n = 0; n < bias.size(); ++n)
          if (int64_t(n) % s.seqlen_k > int64_t(n) / s.seqlen_k % s.seqlen_q)
            bias[n] = -kInfinity;
        t.variant.tensors[0] = TestTensor(dtype, {s.batch, s.heads, s.seqlen_q, s.seqlen_k}, c.layout, c.poison, bias);
        return t;
      };
      expectContained(
          c, make, [](int64_t i, int64_t j) { return j <= i; }, {{.v = {70}}, {.d_o = {5}}}, number);
    }
}

/// A NaN that a row sees must not be lost.
TEST(NonFinite, RowsThatSeeANaNAreNaN) {
  Case c = caseOf("none", Causal::top_left, f32);
  Tensors t = makeTensors(c);
  plantAll(t, c, {.v = {50}}, kNaN);
  ASSERT_EQ(launch(c, t).message(), "");
  std::vector<float> o = t.o.numbers(), dq = t.dq.numbers();
  for (int64_t i = 0; i < c.shape.seqlen_q; ++i) {
    EXPECT_EQ(std::isnan(o[size_t(i * c.shape.value_dim + 50 % 3)]), i >= 50) << i;
    EXPECT_FALSE(std::isnan(o[size_t(i * c.shape.value_dim + 50 % 3 + 1)])) << i;
    EXPECT_EQ(std::isnan(dq[size_t(i * c.shape.head_dim)]), i >= 50) << i;
  }
}

TEST(NonFinite, AnInfiniteValueIsItsRowsOutput) {
  Case c = caseOf("none", Causal::top_left, f32);
  c.backward = false;
  for (float number : {kInfinity, -kInfinity}) {
    Tensors t = makeTensors(c);
    plantAll(t, c, {.v = {50}}, number);
    ASSERT_EQ(launch(c, t).message(), "");
    for (int64_t i = 50; i < c.shape.seqlen_q; ++i)
      EXPECT_EQ(t.o.numbers()[size_t(i * c.shape.value_dim + 50 % 3)], number) << i;
  }
}

} // namespace
} // namespace tegula::testing
