// SPDX-License-Identifier: MIT
#include "language/machine.h"

#include <algorithm>
#include <limits>

namespace tegula::language {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr int64_t rows = 5, columns = 13; // neither fills a vector

/// Returns the distance in units of the last place of `exact`.
double ulps(float x, double exact) {
  if (std::isnan(exact) || std::isnan(x))
    return std::isnan(exact) == std::isnan(x) ? 0 : inf;
  if (std::isinf(exact) || std::isinf(x))
    return static_cast<float>(exact) == x ? 0 : inf;
  double unit = std::max(std::ldexp(1.0, std::ilogb(exact == 0 ? 1e-38 : exact) - 23), 1.2e-38);
  return std::fabs(x - exact) / unit;
}

TEST_P(Language, FloatArithmetic) {
  auto a = Array<float>::random({rows, columns}, 1), b = Array<float>::random({rows, columns}, 2);
  Array<float> y({rows, columns});
  run(
      [](View A, View B, View Y) {
        Value a = A.load(0, {rows, columns}), b = B.load(0, {rows, columns});
        Y.store(0, max(a, b) * 2 - min(a, b) / (abs(a) + 1) + -b);
      },
      a, b, y);
  for (int64_t i = 0; i < rows * columns; ++i) {
    float expected = std::max(a(i), b(i)) * 2 - std::min(a(i), b(i)) / (std::fabs(a(i)) + 1) - b(i);
    EXPECT_NEAR(y(i), expected, 1e-6) << i;
  }
}

// LLVM computes the extrema of numbers that were f16 in f16.
TEST_P(Language, ExtremaOfF16) {
  auto a = Array<float>::random({rows, columns}, 1), b = Array<float>::random({rows, columns}, 2);
  for (Array<float> *x : {&a, &b})
    for (float &element : x->data)
      element = std::round(element * 64) / 64;
  Array<float> y({rows, columns}), z({rows});
  run(
      [](View A, View B, View Y, View Z) {
        Value a = cast(f16, A.load(0, {rows, columns})), b = cast(f16, B.load(0, {rows, columns}));
        Y.store(0, max(a, b) - min(a, b));
        Z.store(0, rowMax(cast(f32, a)));
      },
      a, b, y, z);
  for (int64_t i = 0; i < rows; ++i) {
    EXPECT_EQ(z(i), *std::max_element(&a(i, 0), &a(i, 0) + columns)) << i;
    for (int64_t j = 0; j < columns; ++j)
      EXPECT_EQ(y(i, j), std::fabs(a(i, j) - b(i, j))) << i << ", " << j;
  }
}

/// Compares one function with the host's in double precision, over a range and the special values.
void checkFunction(int lanes, Value (*function)(Operand, Location), double (*exact)(double), float low, float high,
                   double tolerance) {
  constexpr int64_t size = 1000;
  auto x = Array<float>::random({size}, 3, low, high);
  const float special[] = {0, -0.0f, 1, -1, inf, -inf, std::numeric_limits<float>::quiet_NaN(), 0.5f, 2};
  std::copy(std::begin(special), std::end(special), x.data.begin());
  Array<float> y({size});
  run(
      lanes, Grid{1, 1, 1}, [&](View X, View Y) { Y.store(0, function(X.load(0, {size}), Location::current())); }, x,
      y);
  for (int64_t i = 0; i < size; ++i)
    EXPECT_LE(ulps(y(i), exact(x(i))), tolerance) << "x = " << x(i) << ", got " << y(i) << ", exactly " << exact(x(i));
}

// A GPU has an instruction for exp2, which errs by up to two units.
TEST_P(Language, Exp2) { checkFunction(GetParam(), exp2, std::exp2, -125, 127, testing::onGpu() ? 2 : 1); }
TEST_P(Language, Exp) { checkFunction(GetParam(), exp, std::exp, -20, 20, 20); }
TEST_P(Language, Log) { checkFunction(GetParam(), log, std::log, 0, 1000, 4); }
TEST_P(Language, Log2) { checkFunction(GetParam(), log2, std::log2, 0, 1000, 4); }
TEST_P(Language, Tanh) { checkFunction(GetParam(), tanh, std::tanh, -10, 10, 8); }
TEST_P(Language, FastTanh) {
  checkFunction(GetParam(), fastTanh, std::tanh, -10, 10, testing::onGpu() ? std::exp2(24 - 10.9) : 8);
}
TEST_P(Language, Sqrt) { checkFunction(GetParam(), sqrt, std::sqrt, 0, 1e6, 0.5); }

template <class T> T wrap(int64_t x) { return static_cast<T>(static_cast<uint64_t>(x)); }

template <class T> void checkIntegers(int lanes) {
  constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  const T interesting[] = {0, 1, -1, 2, -2, 7, -7, 100, least, most, static_cast<T>(least + 1)};
  std::vector<std::pair<T, T>> pairs;
  for (T x : interesting)
    for (T y : interesting)
      pairs.push_back({x, y});
  int64_t size = static_cast<int64_t>(pairs.size());
  Array<T> a({size}), b({size}), quotient({size}), remainder({size}), floored({size}), ceiled({size}), mixed({size});
  for (int64_t i = 0; i < size; ++i)
    a(i) = pairs[i].first, b(i) = pairs[i].second;
  run(
      lanes, Grid{1, 1, 1},
      [size](View A, View B, View Q, View R, View F, View C, View M) {
        Value a = A.load(0, {size}), b = B.load(0, {size});
        Q.store(0, a / b);
        R.store(0, a % b);
        F.store(0, floorDiv(a, b));
        C.store(0, ceilDiv(a, b));
        M.store(0, ((a & b) | (a ^ 5)) + ((a << 2) - (b >> 1)) * 3);
      },
      a, b, quotient, remainder, floored, ceiled, mixed);
  for (int64_t i = 0; i < size; ++i) {
    T x = a(i), y = b(i);
    bool overflows = x == least && y == -1;
    T q = y == 0 ? 0 : overflows ? least : static_cast<T>(x / y);
    T r = y == 0 || overflows ? 0 : static_cast<T>(x % y);
    bool inexact = r != 0, negative = (x < 0) != (y < 0);
    EXPECT_EQ(quotient(i), q) << +x << " / " << +y;
    EXPECT_EQ(remainder(i), r) << +x << " % " << +y;
    EXPECT_EQ(floored(i), static_cast<T>(q - (inexact && negative))) << +x << " // " << +y;
    EXPECT_EQ(ceiled(i), static_cast<T>(q + (inexact && !negative))) << "ceil " << +x << " / " << +y;
    using U = std::make_unsigned_t<T>;
    U expected = static_cast<U>((x & y) | (x ^ 5)) +
                 (static_cast<U>(static_cast<U>(x) << 2) - static_cast<U>(static_cast<T>(y >> 1))) * U{3};
    EXPECT_EQ(mixed(i), static_cast<T>(expected)) << +x << ", " << +y;
  }
}

TEST_P(Language, Integers32) { checkIntegers<int32_t>(GetParam()); }
TEST_P(Language, Integers64) { checkIntegers<int64_t>(GetParam()); }

/// Shifts numbers by counts that tiles and scalars hold. The count is unsigned, and bits that are shifted out are lost.
template <class T> void checkShifts(int lanes) {
  constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  constexpr int bits = 8 * sizeof(T);
  const std::vector<T> numbers = {5, 0, 1, -1, -6, least, most};
  const std::vector<T> counts = {0, 1, 7, 8, 31, 32, 33, 63, 64, 65, 255, 256, -1, -31, -32, -64, least, most};
  const auto columns = static_cast<int64_t>(numbers.size()), rows = static_cast<int64_t>(counts.size());
  Array<T> x({columns}), n({rows}), left({rows, columns}), right({rows, columns}), scalar({rows, 2}), ofOne({rows});
  x.data = numbers, n.data = counts;
  run(
      lanes, Grid{1, 1, 1},
      [=](View X, View N, View Left, View Right, View Scalar, View OfOne) {
        Value numbers = asRow(X.load(0, {columns})), counts = asColumn(N.load(0, {rows}));
        Left.store(0, numbers << counts);
        Right.store(0, numbers >> counts);
        OfOne.store(0, 1 << N.load(0, {rows}));
        for (Value i : range(0, N.dim(0))) {
          Scalar.store({i, 0}, X.gather(0) << N.gather(i));
          Scalar.store({i, 1}, X.gather(4) >> N.gather(i));
        }
      },
      x, n, left, right, scalar, ofOne);
  auto toLeft = [](T number, T count) { return count < 0 || count >= bits ? T{0} : wrap<T>(int64_t{number} << count); };
  auto toRight = [](T number, T count) { return T(number >> (count < 0 || count >= bits ? bits - 1 : count)); };
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      EXPECT_EQ(left(i, j), toLeft(x(j), n(i))) << +x(j) << " << " << +n(i);
      EXPECT_EQ(right(i, j), toRight(x(j), n(i))) << +x(j) << " >> " << +n(i);
    }
    EXPECT_EQ(scalar(i, 0), toLeft(x(0), n(i))) << "scalar << " << +n(i);
    EXPECT_EQ(scalar(i, 1), toRight(x(4), n(i))) << "scalar >> " << +n(i);
    EXPECT_EQ(ofOne(i), toLeft(1, n(i))) << "1 << " << +n(i);
  }
}

TEST_P(Language, Integers32ShiftedByAnyCount) { checkShifts<int32_t>(GetParam()); }
TEST_P(Language, Integers64ShiftedByAnyCount) { checkShifts<int64_t>(GetParam()); }

/// A count that is a constant of the program, and folded, does the same as one from memory.
TEST_P(Language, ShiftsByConstantsOutOfRange) {
  Array<int32_t> y({4});
  run(
      [](View Y) {
        Value x = fill({1}, -5), zero = fill({1}, 0);
        Y.store(0, x << (zero + 32));
        Y.store(1, x >> (zero + 40));
        Y.store(2, x << (zero - 1));
        Y.store(3, cast(i32, (programId(0) + 3) << constant(DType::index, 64)) + zero + 7);
      },
      y);
  EXPECT_EQ(y.data, (std::vector<int32_t>{0, -1, 0, 7}));
}

/// GPUs compare distances with 0. The distance of numbers this far apart must not overflow.
TEST_P(Language, Integers32AcrossADiagonal) {
  constexpr int64_t rows = 16, columns = 32;
  constexpr int32_t least = std::numeric_limits<int32_t>::min(), most = std::numeric_limits<int32_t>::max();
  const std::vector<int32_t> numbers = {least, -1000, -17, 0, 7, 1000, most - int32_t(columns)};
  const auto size = static_cast<int64_t>(numbers.size());
  Array<int32_t> x({size}), below({size * size, rows, columns}), within({size * size, rows, columns});
  x.data = numbers;
  runOn(
      Grid{size, 1, 1},
      [size](View X, View Below, View Within) {
        Value row = asColumn(X.gather(programId(0)) + iota(rows));
        Value ones = cast(i32, fill({rows, columns}, 1.0)), zeros = ones * 0;
        for (Value i : range(0, size)) {
          Value column = asRow(X.gather(i) + iota(columns));
          Value isBelow = column <= row, isWithin = isBelow & (column > row - 20);
          Below.at(programId(0) * size + i).store({0, 0}, select(isBelow, ones, zeros));
          Within.at(programId(0) * size + i).store({0, 0}, select(isWithin, ones, zeros));
        }
      },
      x, below, within);
  for (int64_t a = 0; a < size; ++a)
    for (int64_t b = 0; b < size; ++b)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          const int64_t distance = x(a) + i - (x(b) + j);
          ASSERT_EQ(below(a * size + b, i, j), distance >= 0) << x(a) << " + " << i << ", " << x(b) << " + " << j;
          if (x(a) != least) // row - 20 wraps around.
            ASSERT_EQ(within(a * size + b, i, j), distance >= 0 && distance < 20) << x(a) << " + " << i;
        }
}

/// GPUs multiply by the reciprocal of a divisor that a loop does not change.
TEST_P(Language, DivisorsThatALoopKeeps) {
  constexpr int32_t least = std::numeric_limits<int32_t>::min(), most = std::numeric_limits<int32_t>::max();
  std::vector<int32_t> numbers = {0, 1, -1, 2, -2, 3, 7, -7, 100, least, most, least + 1, most - 1};
  std::mt19937 generator(7);
  for (int bits = 4; bits < 32; ++bits)
    numbers.push_back(static_cast<int32_t>(generator() >> (32 - bits)));
  const auto size = static_cast<int64_t>(numbers.size());
  Array<int32_t> x({size}), quotient({size, size}), remainder({size, size});
  x.data = numbers;
  runOn(
      Grid{size, 1, 1},
      [size](View X, View Q, View R) {
        Value divisor = X.gather(programId(0));
        for (Value i : range(0, size)) {
          Value dividend = X.gather(i), zero = iota(1) * 0;
          Q.at(programId(0)).store(i, zero + dividend / divisor);
          R.at(programId(0)).store(i, zero + dividend % divisor);
        }
      },
      x, quotient, remainder);
  for (int64_t d = 0; d < size; ++d)
    for (int64_t i = 0; i < size; ++i) {
      const int64_t dividend = x(i), divisor = x(d);
      EXPECT_EQ(quotient(d, i), divisor == 0 ? 0 : wrap<int32_t>(dividend / divisor)) << dividend << " / " << divisor;
      EXPECT_EQ(remainder(d, i), divisor == 0 ? 0 : wrap<int32_t>(dividend % divisor)) << dividend << " % " << divisor;
    }
}

TEST_P(Language, ComparisonsAndSelection) {
  auto a = Array<float>::random({rows, columns}, 5), b = Array<float>::random({rows, columns}, 6);
  a(3) = b(3), a(4) = std::nanf(""), b(5) = std::nanf("");
  Array<int32_t> y({rows, columns});
  run(
      [](View A, View B, View Y) {
        Value a = A.load(0, {rows, columns}), b = B.load(0, {rows, columns});
        Value bits = select(a < b, 1, 0) + select(a <= b, 2, 0) + select(a > b, 4, 0) + select(a >= b, 8, 0) +
                     select(a == b, 16, 0) + select(a != b, 32, 0) + select(!(a < b) & (b > 0), 64, 0) +
                     select((a < 0) ^ (b < 0), 128, 0);
        Y.store(0, cast(i32, bits));
      },
      a, b, y);
  for (int64_t i = 0; i < rows * columns; ++i) {
    float p = a(i), q = b(i);
    int expected = (p < q) + 2 * (p <= q) + 4 * (p > q) + 8 * (p >= q) + 16 * (p == q) + 32 * (p != q) +
                   64 * (!(p < q) && q > 0) + 128 * ((p < 0) != (q < 0));
    EXPECT_EQ(y(i), expected) << p << ", " << q;
  }
}

TEST_P(Language, ColumnsRowsAndScalarsRepeat) {
  auto a = Array<float>::random({rows}, 7), b = Array<float>::random({columns}, 8);
  Array<float> y({rows, columns});
  run(
      [](View A, View B, View Y) {
        Value n = cast(f32, cast(i32, A.dim(0)));
        Y.store(0, asColumn(A.load(0, {rows})) * asRow(B.load(0, {columns})) + n);
      },
      a, b, y);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      EXPECT_FLOAT_EQ(y(i, j), a(i) * b(j) + rows);
}

TEST_P(Language, CastsRoundToNearestEven) {
  constexpr int64_t size = 300;
  auto a = Array<float>::random({size}, 9, -1e5, 1e5);
  Array<Bf16> y({size});
  Array<float> z({size});
  Array<int32_t> n({size});
  run(
      [](View A, View Y, View Z, View N) {
        Value a = A.load(0, {size});
        Y.store(0, a);
        Z.store(0, cast(bf16, a) * 1.0);
        N.store(0, cast(i32, a));
      },
      a, y, z, n);
  for (int64_t i = 0; i < size; ++i) {
    EXPECT_EQ(y(i).bits, Bf16(a(i)).bits);
    EXPECT_EQ(z(i), static_cast<float>(Bf16(a(i))));
    EXPECT_EQ(n(i), static_cast<int32_t>(a(i)));
  }
}

INSTANTIATE_TEST_SUITE_P(Lanes, Language, ::testing::ValuesIn(testedLanes()));

} // namespace
} // namespace tegula::language
