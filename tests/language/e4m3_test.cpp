// SPDX-License-Identifier: MIT
// Tiles of e4m3: each of its 256 codes, and numbers at and next to each place where rounding changes.
#include "language/machine.h"

#include <algorithm>
#include <array>

namespace tegula::language {
namespace {

constexpr int64_t kCodes = 256;
constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

class E4m3Type : public Language {};

Array<E4m3> allCodes() {
  Array<E4m3> codes({kCodes});
  for (int64_t i = 0; i < kCodes; ++i)
    codes(i).bits = static_cast<uint8_t>(i);
  return codes;
}

/// Compares the codes, but takes each NaN for the other.
void expectSame(const Array<E4m3> &actual, const std::vector<float> &numbers) {
  for (int64_t i = 0; i < static_cast<int64_t>(numbers.size()); ++i) {
    const E4m3 expected(numbers[i]), got = actual.data[i];
    if (std::isnan(float(expected)))
      EXPECT_TRUE(std::isnan(float(got))) << i;
    else
      EXPECT_EQ(int(got.bits), int(expected.bits)) << numbers[i] << " at " << i;
  }
}

/// Returns each number, the middle of it and the next one, and the neighbours of the middle in f32, with both signs.
/// They fill rows of 13, so that tiles have odd numbers of elements.
Array<float> interestingNumbers() {
  std::vector<float> all = {0, nan, inf, 447.99f, 448, 463.99f, 464, 465, 1e30f, 0x1p-9f, 0x1p-11f, 1e-40f, 0.1f};
  for (int code = 0; code + 1 < 0x7f; ++code) {
    const float low = E4m3::valueOf(uint8_t(code)), high = E4m3::valueOf(uint8_t(code + 1)), middle = (low + high) / 2;
    all.insert(all.end(), {low, middle, std::nextafter(middle, low), std::nextafter(middle, high)});
  }
  for (size_t i = 0, count = all.size(); i < count; ++i)
    all.push_back(-all[i]);
  const auto rows = static_cast<int64_t>((all.size() + 12) / 13);
  Array<float> result({rows, 13});
  std::copy(all.begin(), all.end(), result.data.begin());
  return result;
}

TEST_P(E4m3Type, EachCodeHasItsValue) {
  Array<E4m3> x = allCodes(), copy({kCodes});
  Array<float> y({kCodes});
  run(
      [](View X, View Y, View Copy) {
        Value x = X.load(0, {kCodes});
        Y.store(0, x);
        Copy.store(0, x);
      },
      x, y, copy);
  for (int64_t i = 0; i < kCodes; ++i) {
    if (std::isnan(float(x(i)))) {
      EXPECT_TRUE(std::isnan(y(i)) && std::isnan(float(copy(i)))) << i;
      continue;
    }
    EXPECT_EQ(y(i), float(x(i))) << i;
    EXPECT_EQ(std::signbit(y(i)), i >= 128) << i;
    EXPECT_EQ(int(copy(i).bits), i);
  }
}

TEST_P(E4m3Type, StoresRoundToNearestEvenAndSaturate) {
  Array<float> x = interestingNumbers();
  const int64_t rows = x.shape[0];
  Array<E4m3> y({rows, 13});
  run([rows](View X, View Y) { Y.store(0, X.load(0, {rows, 13})); }, x, y);
  expectSame(y, x.data);
}

TEST_P(E4m3Type, CastsRoundAndComeBack) {
  Array<float> x = interestingNumbers(), y(x.shape);
  const int64_t rows = x.shape[0];
  run([rows](View X, View Y) { Y.store(0, cast(f32, cast(e4m3, X.load(0, {rows, 13}))) * 2); }, x, y);
  for (size_t i = 0; i < x.data.size(); ++i)
    if (const float expected = 2 * float(E4m3(x.data[i])); std::isnan(expected))
      EXPECT_TRUE(std::isnan(y.data[i])) << i;
    else
      EXPECT_EQ(y.data[i], expected) << x.data[i];
}

TEST_P(E4m3Type, CastsFromAndToOtherNarrowFloats) {
  Array<Bf16> x = Array<Bf16>::random({7, 13}, 1, -500, 500);
  Array<Bf16> y({7, 13});
  Array<E4m3> z({7, 13});
  run(
      [](View X, View Y, View Z) {
        Value x = X.load(0, {7, 13});
        Y.store(0, cast(bf16, cast(e4m3, x)));
        Z.store(0, cast(f16, cast(e4m3, x)));
      },
      x, y, z);
  std::vector<float> numbers(x.data.begin(), x.data.end());
  expectSame(z, numbers);
  for (size_t i = 0; i < numbers.size(); ++i)
    EXPECT_EQ(float(y.data[i]), float(E4m3(numbers[i])));
}

TEST_P(E4m3Type, ArithmeticIsThatOfF32) {
  Array<E4m3> a = Array<E4m3>::random({5, 13}, 1), b = Array<E4m3>::random({5, 13}, 2);
  Array<float> y({5, 13}), sums({5});
  run(
      [](View A, View B, View Y, View Sums) {
        Value a = A.load(0, {5, 13}), b = B.load(0, {5, 13});
        Y.store(0, a * b + select(a < b, a, b));
        Sums.store(0, reduceSum(a, 1));
      },
      a, b, y, sums);
  for (int64_t i = 0; i < 5; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < 13; ++j) {
      const float p = a(i, j), q = b(i, j);
      EXPECT_EQ(y(i, j), p * q + std::min(p, q));
      sum += p;
    }
    EXPECT_NEAR(sums(i), sum, 1e-5);
  }
}

TEST_P(E4m3Type, LiteralsAndElementsOutsideTheView) {
  Array<E4m3> x({3}, 1.5f), y({8}), z({8});
  run(
      [](View X, View Y, View Z) {
        Value x = X.load(0, {8}, /*fill=*/-1e30);
        Y.store(0, x);
        Z.store(0, select(iota(8) < 2, x, 0.3));
      },
      x, y, z);
  expectSame(y, {1.5f, 1.5f, 1.5f, -448, -448, -448, -448, -448});
  expectSame(z, {1.5f, 1.5f, 0.3f, 0.3f, 0.3f, 0.3f, 0.3f, 0.3f});
}

TEST_P(E4m3Type, MovesThroughLoopsBranchesAndIndices) {
  Array<E4m3> x = Array<E4m3>::random({6, 24}, 3);
  Array<E4m3> last({24}), transposed({24, 6}), scattered({24});
  Array<int32_t> places({24});
  for (int64_t i = 0; i < 24; ++i)
    places(i) = static_cast<int32_t>((5 * i) % 24);
  run(
      [](View X, View Places, View Last, View Transposed, View Scattered) {
        Var row = X.at(0).load(0, {24});
        for (Value i : range(1, X.dim(0))) {
          Value next = X.at(i).load(0, {24});
          when(i % 2 == 1, [&] { row = next; });
        }
        Last.store(0, row);
        Transposed.store(0, transpose(X.load(0, {6, 24})));
        Value places = Places.load(0, {24});
        Scattered.scatter(X.gather(2, places), places);
      },
      x, places, last, transposed, scattered);
  for (int64_t j = 0; j < 24; ++j) {
    EXPECT_EQ(last(j).bits, x(5, j).bits);
    EXPECT_EQ(scattered(j).bits, x(2, j).bits);
    for (int64_t i = 0; i < 6; ++i)
      EXPECT_EQ(transposed(j, i).bits, x(i, j).bits);
  }
}

/// Products of e4m3 numbers are exact in f32, and the sums of these are, too.
void checkProduct(Array<E4m3> &a, Array<E4m3> &b, Array<float> &c) {
  for (int64_t i = 0; i < c.shape[0]; ++i)
    for (int64_t j = 0; j < c.shape[1]; ++j) {
      float sum = 1;
      for (int64_t k = 0; k < a.shape[1]; ++k)
        sum += float(a(i, k)) * float(b(k, j));
      ASSERT_EQ(c(i, j), sum) << i << ", " << j;
    }
}

Array<E4m3> randomIntegers(std::vector<int64_t> shape, int seed) {
  Array<E4m3> result = Array<E4m3>::random(std::move(shape), seed, -16, 16);
  for (E4m3 &x : result.data)
    x = std::round(float(x));
  return result;
}

TEST_P(E4m3Type, Products) {
  for (auto [m, n, k] : {std::array<int64_t, 3>{64, 64, 64}, {64, 32, 128}, {13, 21, 37}}) {
    Array<E4m3> a = randomIntegers({m, k}, 1), b = randomIntegers({k, n}, 2);
    Array<float> c({m, n});
    run([=](View A, View B, View C) { C.store(0, dot(A.load(0, {m, k}), B.load(0, {k, n}), fill({m, n}, 1.0))); }, a, b,
        c);
    checkProduct(a, b, c);
  }
}

TEST_P(E4m3Type, ProductsInALoopOfTransposedAndComputedTiles) {
  constexpr int64_t m = 64, n = 32, k = 96, step = 32;
  Array<E4m3> a = randomIntegers({m, k}, 1), b = randomIntegers({n, k}, 2), turned({k, n});
  Array<float> c({m, n});
  run(
      [](View A, View B, View C) {
        Var sum = fill({m, n}, 1.0);
        for (Value j : range(0, A.dim(1), step)) {
          Value left = cast(e4m3, cast(f32, A.load({0, j}, {m, step})) * 2.0);
          sum = dot(left, transpose(B.load({0, j}, {n, step})), sum);
        }
        C.store(0, sum);
      },
      a, b, c);
  for (E4m3 &x : a.data)
    x = 2 * float(x);
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = 0; j < n; ++j)
      turned(i, j) = b(j, i);
  checkProduct(a, turned, c);
}

INSTANTIATE_TEST_SUITE_P(Lanes, E4m3Type, ::testing::ValuesIn(testedLanes()));

} // namespace
} // namespace tegula::language
