// SPDX-License-Identifier: MIT
#include "language/machine.h"

namespace tegula::language {
namespace {

class Shapes : public Language {};

TEST_P(Shapes, TransposeAndPermute) {
  auto a = Array<float>::random({6, 11}, 1);
  auto b = Array<float>::random({3, 4, 9}, 2);
  Array<float> at({11, 6}), bp({9, 3, 4});
  run(
      [](View A, View B, View At, View Bp) {
        At.store(0, transpose(A.load(0, {6, 11})) + 1);
        Bp.store(0, permute(B.load(0, {3, 4, 9}), {2, 0, 1}));
      },
      a, b, at, bp);
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 11; ++j)
      EXPECT_EQ(at(j, i), a(i, j) + 1);
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 4; ++j)
      for (int64_t k = 0; k < 9; ++k)
        EXPECT_EQ(bp(k, i, j), b(i, j, k));
}

TEST_P(Shapes, ReshapeKeepsRowMajorOrder) {
  auto a = Array<float>::random({6, 10}, 3);
  Array<float> y({4, 15}), z({60}), back({6, 10});
  run(
      [](View A, View Y, View Z, View Back) {
        Value a = A.load(0, {6, 10});
        Value regrouped = reshape(a * 2, {4, 15});
        Y.store(0, regrouped);
        Z.store(0, reshape(regrouped, {60}));
        Back.store(0, reshape(reshape(a, {60}), {6, 10}));
      },
      a, y, z, back);
  for (int64_t i = 0; i < 60; ++i) {
    EXPECT_EQ(y(i), 2 * a(i));
    EXPECT_EQ(z(i), 2 * a(i));
    EXPECT_EQ(back(i), a(i));
  }
}

TEST_P(Shapes, ReductionsAlongEveryAxis) {
  auto a = Array<float>::random({7, 19}, 4);
  auto b = Array<float>::random({3, 5, 10}, 5);
  Array<float> rowMaximum({7}), columnSum({19}), columnMinimum({19}), middle({3, 10}), last({3, 5});
  run(
      [](View A, View B, View RowMaximum, View ColumnSum, View ColumnMinimum, View Middle, View Last) {
        Value a = A.load(0, {7, 19}), b = B.load(0, {3, 5, 10});
        RowMaximum.store(0, rowMax(a));
        ColumnSum.store(0, reduceSum(a, 0));
        ColumnMinimum.store(0, reduceMin(a, 0));
        Middle.store(0, reduceSum(b, 1));
        Last.store(0, reduceMax(b, 2));
      },
      a, b, rowMaximum, columnSum, columnMinimum, middle, last);
  for (int64_t i = 0; i < 7; ++i)
    EXPECT_EQ(rowMaximum(i), *std::max_element(&a(i, 0), &a(i, 0) + 19));
  for (int64_t j = 0; j < 19; ++j) {
    double sum = 0;
    float least = a(0, j);
    for (int64_t i = 0; i < 7; ++i)
      sum += a(i, j), least = std::min(least, a(i, j));
    EXPECT_NEAR(columnSum(j), sum, 1e-5);
    EXPECT_EQ(columnMinimum(j), least);
  }
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t k = 0; k < 10; ++k) {
      double sum = 0;
      for (int64_t j = 0; j < 5; ++j)
        sum += b(i, j, k);
      EXPECT_NEAR(middle(i, k), sum, 1e-5);
    }
    for (int64_t j = 0; j < 5; ++j)
      EXPECT_EQ(last(i, j), *std::max_element(&b(i, j, 0), &b(i, j, 0) + 10));
  }
}

TEST_P(Shapes, IntegerReductions) {
  auto a = Array<int32_t>::random({4, 21}, 6, -1000, 1000);
  Array<int32_t> sum({4}), least({4});
  run(
      [](View A, View Sum, View Least) {
        Value a = A.load(0, {4, 21});
        Sum.store(0, rowSum(a));
        Least.store(0, reduceMin(a, 1));
      },
      a, sum, least);
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(sum(i), std::accumulate(&a(i, 0), &a(i, 0) + 21, 0));
    EXPECT_EQ(least(i), *std::min_element(&a(i, 0), &a(i, 0) + 21));
  }
}

struct DotCase {
  int64_t m, n, k;
};

TEST_P(Shapes, DotInEveryOrientation) {
  for (auto [m, n, k] : {DotCase{1, 1, 1}, DotCase{5, 7, 3}, DotCase{16, 16, 16}, DotCase{13, 40, 33},
                         DotCase{31, 9, 8}, DotCase{24, 72, 10}})
    for (bool transposeA : {false, true})
      for (bool transposeB : {false, true})
        for (bool add : {false, true}) {
          auto a = transposeA ? Array<float>::random({k, m}, 7) : Array<float>::random({m, k}, 7);
          auto b = transposeB ? Array<float>::random({n, k}, 8) : Array<float>::random({k, n}, 8);
          auto y = Array<float>::random({m, n}, 9), before = y;
          run(
              [&, m = m, n = n, k = k](View A, View B, View Y) {
                Value a = transposeA ? transpose(A.load(0, {k, m})) : A.load(0, {m, k});
                Value b = transposeB ? transpose(B.load(0, {n, k})) : B.load(0, {k, n});
                Y.store(0, add ? dot(a, b, Y.load(0, {m, n}) * 2) : dot(a, b));
              },
              a, b, y);
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
              double sum = add ? 2 * before(i, j) : 0;
              for (int64_t x = 0; x < k; ++x)
                sum += double{transposeA ? a(x, i) : a(i, x)} * (transposeB ? b(j, x) : b(x, j));
              EXPECT_NEAR(y(i, j), sum, 1e-4)
                  << m << 'x' << n << 'x' << k << transposeA << transposeB << add << " at " << i << ", " << j;
            }
        }
}

TEST_P(Shapes, DotAddsToOneOfItsOwnOperands) {
  auto a = Array<float>::random({20, 20}, 12);
  Array<float> y({20, 20}), z({20, 20});
  run(
      [](View A, View Y, View Z) {
        Value a = A.load(0, {20, 20}), b = a + 1;
        Y.store(0, dot(a, b, b));
        Z.store(0, dot(b, a, b));
      },
      a, y, z);
  for (int64_t i = 0; i < 20; ++i)
    for (int64_t j = 0; j < 20; ++j) {
      double left = a(i, j) + 1.0, right = left;
      for (int64_t k = 0; k < 20; ++k) {
        left += (a(i, k) + 1.0) * a(k, j);
        right += a(i, k) * (a(k, j) + 1.0);
      }
      EXPECT_NEAR(y(i, j), right, 1e-4);
      EXPECT_NEAR(z(i, j), left, 1e-4);
    }
}

TEST_P(Shapes, DotOfComputedOperandsInBothOrders) {
  auto a = Array<float>::random({20, 12}, 10), b = Array<float>::random({20, 12}, 11);
  Array<float> y({20, 20}), z({12, 12});
  run(
      [](View A, View B, View Y, View Z) {
        Value a = A.load(0, {20, 12}) * 2, b = B.load(0, {20, 12}) + 1;
        Value s = exp(dot(a, transpose(b)) * 0.1);
        Y.store(0, s);
        Z.store(0, dot(transpose(a), dot(s, b)));
      },
      a, b, y, z);
  std::vector<double> s(400);
  for (int64_t i = 0; i < 20; ++i)
    for (int64_t j = 0; j < 20; ++j) {
      for (int64_t k = 0; k < 12; ++k)
        s[i * 20 + j] += 2.0 * a(i, k) * (b(j, k) + 1.0);
      s[i * 20 + j] = std::exp(0.1 * s[i * 20 + j]);
      EXPECT_NEAR(y(i, j) / s[i * 20 + j], 1, 1e-5);
    }
  for (int64_t p = 0; p < 12; ++p)
    for (int64_t q = 0; q < 12; ++q) {
      double sum = 0, scale = 0;
      for (int64_t i = 0; i < 20; ++i)
        for (int64_t j = 0; j < 20; ++j) {
          double term = 2.0 * a(i, p) * s[i * 20 + j] * (b(j, q) + 1.0);
          sum += term, scale += std::fabs(term);
        }
      EXPECT_NEAR(z(p, q), sum, 1e-6 * scale);
    }
}

/// Returns the sum of the `count` numbers that are `stride` apart.
static double sumOf(const float *first, int64_t count, int64_t stride) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += first[i * stride];
  return sum;
}

TEST_P(Shapes, CumulativeSumsAlongEveryAxis) {
  auto a = Array<float>::random({7, 70}, 4), b = Array<float>::random({3, 5, 10}, 5),
       c = Array<float>::random({300}, 6);
  Array<float> rows({7, 70}), columns({7, 70}), middle({3, 5, 10}), vector({300}), reverse({300}), spread({7, 70});
  run(
      [](View A, View B, View C, View Rows, View Columns, View Middle, View Vector, View Reverse, View Spread) {
        Value a = A.load(0, {7, 70}), c = C.load(0, {300});
        Rows.store(0, cumsum(a, 1));
        Columns.store(0, cumsum(a * 1.0, 0, true));
        Middle.store(0, cumsum(B.load(0, {3, 5, 10}), 1));
        Vector.store(0, cumsum(c, 0));
        Reverse.store(0, cumsum(c, 0, true));
        Spread.store(0, transpose(cumsum(transpose(a), 0)));
      },
      a, b, c, rows, columns, middle, vector, reverse, spread);
  for (int64_t i = 0; i < 7; ++i)
    for (int64_t j = 0; j < 70; ++j) {
      EXPECT_NEAR(rows(i, j), sumOf(&a(i, 0), j + 1, 1), 1e-4);
      EXPECT_NEAR(spread(i, j), rows(i, j), 1e-4);
      EXPECT_NEAR(columns(i, j), sumOf(&a(i, j), 7 - i, 70), 1e-4);
    }
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 5; ++j)
      for (int64_t k = 0; k < 10; ++k)
        EXPECT_NEAR(middle(i, j, k), sumOf(&b(i, 0, k), j + 1, 10), 1e-4);
  for (int64_t i = 0; i < 300; ++i) {
    EXPECT_NEAR(vector(i), sumOf(&c(0), i + 1, 1), 1e-4);
    EXPECT_NEAR(reverse(i), sumOf(&c(i), 300 - i, 1), 1e-4);
  }
}

TEST_P(Shapes, CumulativeSumsOfAProduct) {
  constexpr int64_t m = 80, n = 96, k = 16;
  auto a = Array<Bf16>::random({m, k}, 1), b = Array<Bf16>::random({k, n}, 2);
  Array<float> product({m, n}), along({m, n}), across({m, n}), carried({m, n});
  run(
      [](View A, View B, View Product, View Along, View Across, View Carried) {
        Value s = dot(A.load(0, {m, k}), B.load(0, {k, n}));
        Product.store(0, s);
        Along.store(0, cumsum(s, 1));
        Across.store(0, cumsum(s, 0, true));
        Var sum = fill({m, n}, 0.0);
        for (Value i : range(0, 2))
          sum += cumsum(s, 0) * cast(f32, i);
        Carried.store(0, sum);
      },
      a, b, product, along, across, carried);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      EXPECT_NEAR(along(i, j), sumOf(&product(i, 0), j + 1, 1), 1e-3);
      EXPECT_NEAR(across(i, j), sumOf(&product(i, j), m - i, n), 1e-3);
      EXPECT_NEAR(carried(i, j), sumOf(&product(0, j), i + 1, n), 1e-3);
    }
}

TEST_P(Shapes, CumulativeSumsOfIntegers) {
  Array<int32_t> x({5, 33}), y({5, 33});
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t j = 0; j < 33; ++j)
      x(i, j) = static_cast<int32_t>(i * j - 7);
  run([](View X, View Y) { Y.store(0, cumsum(X.load(0, {5, 33}), 1)); }, x, y);
  for (int64_t i = 0; i < 5; ++i)
    EXPECT_EQ(y(i, 32), i * 32 * 33 / 2 - 7 * 33);
}

TEST_P(Shapes, TheDerivativeOfACumulativeSumRunsBackwards) {
  auto x = Array<float>::random({4, 37}, 1), seed = Array<float>::random({4, 37}, 2);
  Array<float> gradient({4, 37});
  run(
      [](View X, View Seed, View Gradient) {
        Value x = X.load(0, {4, 37});
        Value y = cumsum(x * x, 1) * 3.0;
        Gradient.store(0, differentiate(y, x, Seed.load(0, {4, 37})));
      },
      x, seed, gradient);
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 37; ++j)
      EXPECT_NEAR(gradient(i, j), 6 * x(i, j) * sumOf(&seed(i, j), 37 - j, 1), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Lanes, Shapes, ::testing::ValuesIn(testedLanes()));

} // namespace
} // namespace tegula::language
