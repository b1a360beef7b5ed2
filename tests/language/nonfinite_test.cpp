// SPDX-License-Identifier: MIT
// Tests of NaN and infinities, and of dots in which they reach only the rows that see them.
#include "language/machine.h"

#include <limits>

namespace tegula::language {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class NonFinite : public Language {};

TEST_P(NonFinite, AnyIsOneAnswerForATile) {
  Array<float> x({3, 40}), y({37});
  Array<int32_t> found({2});
  auto kernel = [](View X, View Y, View Found) {
    Var flags = fill({2}, 0);
    when(any(X.load(0, {3, 40}) > 1.0), [&] { flags = flags + select(iota(2) == 0, 1, 0); });
    when(any(Y.load(0, {37}) > 1.0), [&] { flags = flags + select(iota(2) == 1, 1, 0); });
    Found.store(0, flags);
  };
  auto flagsOf = [&] {
    run(kernel, x, y, found);
    return std::vector<int32_t>{found(0), found(1)};
  };
  EXPECT_EQ(flagsOf(), (std::vector<int32_t>{0, 0}));
  x(2, 39) = 2;
  EXPECT_EQ(flagsOf(), (std::vector<int32_t>{1, 0}));
  x(2, 39) = 0;
  y(36) = 2;
  EXPECT_EQ(flagsOf(), (std::vector<int32_t>{0, 1}));
}

TEST_P(NonFinite, IsFinite) {
  Array<float> x({5});
  x.data = {0, -3.5f, kInfinity, -kInfinity, kNaN};
  Array<int32_t> y({5});
  run([](View X, View Y) { Y.store(0, cast(i32, isFinite(X.load(0, {5})))); }, x, y);
  EXPECT_EQ(y.data, (std::vector<int32_t>{1, 1, 0, 0, 0}));
}

constexpr int64_t kRows = 48, kDepth = 32, kColumns = 16;

/// Computes y: row i is the sum of a(i, j) b(j) over all j <= i. Begins with a dot that hides no element of b. If its
/// result is not finite, uses dotWhere and sets `slow`.
void triangularProduct(View A, View B, View Y, View Slow) {
  Value a = A.load(0, {kRows, kDepth}), b = B.load(0, {kDepth, kColumns});
  Value seen = asColumn(iota(kRows)) >= asRow(iota(kDepth));
  Var y = dot(select(seen, a, 0.0), b), slow = constant(i32, 0);
  when(!allFinite(y), [&] {
    y = dotWhere(seen, a, b, 0.0);
    slow = constant(i32, 1);
  });
  Y.store(0, y);
  Slow.store(0, broadcast(slow, {1}));
}

class Triangular {
public:
  Triangular() : a(Array<float>::random({kRows, kDepth}, 1)), b(Array<float>::random({kDepth, kColumns}, 2)) {}

  Array<float> a, b, y = Array<float>({kRows, kColumns});
  Array<int32_t> slow = Array<int32_t>({1});
};

TEST_P(NonFinite, HiddenRowsOfAProductChangeNoBit) {
  Triangular clean, dirty;
  dirty.b(20, 3) = kNaN;
  dirty.b(25, 4) = kInfinity;
  dirty.b(26, 5) = -kInfinity;
  run(triangularProduct, clean.a, clean.b, clean.y, clean.slow);
  run(triangularProduct, dirty.a, dirty.b, dirty.y, dirty.slow);
  EXPECT_EQ(clean.slow(0), 0);
  EXPECT_EQ(dirty.slow(0), 1);
  const int64_t firstReached[] = {kRows, kRows, kRows, 20, 25, 26};
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t n = 0; n < kColumns; ++n) {
      if (n > 5 || i < firstReached[n])
        EXPECT_EQ(dirty.y(i, n), clean.y(i, n)) << i << ", " << n;
      else
        EXPECT_FALSE(std::isfinite(dirty.y(i, n))) << i << ", " << n;
    }
}

/// Elements that a row sees give what a dot gives. Infinities of one sign give an infinity. Infinities of both signs,
/// or an infinity times 0, give NaN.
TEST_P(NonFinite, SeenInfinitiesGiveWhatTheyGiveInAProduct) {
  Triangular t;
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < kDepth; ++j)
      t.a(i, j) = i % 3 == 0 ? 1.0f : i % 3 == 1 ? -1.0f : 0.0f;
  t.b(4, 0) = kInfinity;
  t.b(4, 1) = -kInfinity;
  t.b(4, 2) = kInfinity, t.b(5, 2) = -kInfinity;
  t.b(4, 3) = kNaN, t.b(5, 3) = kInfinity;
  run(triangularProduct, t.a, t.b, t.y, t.slow);
  for (int64_t i = 5; i < kRows; ++i) {
    if (i % 3 == 2) {
      EXPECT_TRUE(std::isnan(t.y(i, 0)) && std::isnan(t.y(i, 1))) << i;
    } else {
      EXPECT_EQ(t.y(i, 0), i % 3 == 0 ? kInfinity : -kInfinity) << i;
      EXPECT_EQ(t.y(i, 1), i % 3 == 0 ? -kInfinity : kInfinity) << i;
    }
    EXPECT_TRUE(std::isnan(t.y(i, 2)) && std::isnan(t.y(i, 3))) << i;
    EXPECT_TRUE(std::isfinite(t.y(i, 4))) << i;
  }
}

TEST_P(NonFinite, AnOnlineSoftmaxOfHiddenValues) {
  constexpr int64_t keys = 40;
  auto kernel = [](View S, View V, View O) {
    OnlineSoftmax softmax(16, 24);
    for (Value j : range(0, keys, 20))
      softmax.updateWhereSeen(S.load({0, j}, {16, 20}), V.load({j, 0}, {20, 24}));
    O.store(0, softmax.output());
  };
  auto scores = Array<float>::random({16, keys}, 3), values = Array<float>::random({keys, 24}, 4), spoilt = values;
  for (int64_t i = 0; i < 8; ++i)
    scores(i, 11) = scores(i, 30) = -kInfinity;
  spoilt(11, 2) = kNaN;
  spoilt(30, 3) = kInfinity;
  Array<float> clean({16, 24}), dirty({16, 24});
  run(kernel, scores, values, clean);
  run(kernel, scores, spoilt, dirty);
  for (int64_t i = 0; i < 16; ++i)
    for (int64_t n = 0; n < 24; ++n)
      if (i < 8 || (n != 2 && n != 3))
        EXPECT_EQ(dirty(i, n), clean(i, n));
      else if (n == 2)
        EXPECT_TRUE(std::isnan(dirty(i, n)));
      else
        EXPECT_EQ(dirty(i, n), kInfinity);
}

INSTANTIATE_TEST_SUITE_P(Lanes, NonFinite, ::testing::ValuesIn(testedLanes()));

} // namespace
} // namespace tegula::language
