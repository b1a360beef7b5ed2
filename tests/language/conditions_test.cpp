// SPDX-License-Identifier: MIT
// Conditions in memory, and conditions of rows and of lists.
#include "language/machine.h"

namespace tegula::language {

/// A condition in memory: a byte that is true unless it is 0.
struct Flag {
  int8_t byte = 0;
};
template <> struct DTypeOf<Flag> { static constexpr DType value = i8; };

namespace {

class Conditions : public Language {
protected:
  /// Records and runs kernel(x: f32, seen: conditions, y: f32, flags: conditions).
  template <class Kernel>
  void runWithFlags(const Kernel &kernel, Array<float> &x, Array<Flag> &seen, Array<float> &y, Array<Flag> &flags) {
    const auto rank = [](const auto &array) { return static_cast<int>(array.shape.size()); };
    const Expected<Program> program =
        record("kernel", kernel, TensorArg{"x", f32, rank(x)}, TensorArg{"seen", DType::i1, rank(seen)},
               TensorArg{"y", f32, rank(y)}, TensorArg{"flags", DType::i1, rank(flags)});
    ASSERT_TRUE(program.ok()) << program.status().message();
    EXPECT_EQ(program->parameters[1].dtype, i8) << "a launch passes bytes";
    auto compiled = compileFor(*program, GetParam());
    ASSERT_TRUE(compiled.ok()) << compiled.status().message() << program->text;
    OnDevice<float> on_x(x), on_y(y);
    OnDevice<Flag> on_seen(seen), on_flags(flags);
    const Status status = (*compiled)->launch(Grid{1, 1, 1}, {on_x.ref(), on_seen.ref(), on_y.ref(), on_flags.ref()});
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(on_y.readBack() & on_flags.readBack()) << "memory outside an array was written";
  }
};

TEST_P(Conditions, AreReadFromBytesAndWritten) {
  constexpr int64_t rows = 24, columns = 40;
  auto x = Array<float>::random({rows, columns}, 1);
  Array<Flag> seen({rows, columns}), flags({rows, columns}, Flag{7});
  constexpr int8_t bytes[] = {0, 1, -1, 0, 2, -128};
  for (size_t i = 0; i < seen.data.size(); ++i)
    seen.data[i].byte = bytes[i * i % 6];
  Array<float> y({rows, columns});
  runWithFlags(
      [](View X, View Seen, View Y, View Flags) {
        Value visible = Seen.load(0, {32, 48}, 1); // true outside
        Value x = X.load(0, {32, 48});
        Y.store(0, select(visible, x, -9.0));
        Value turned = Seen.gather(asColumn(iota(32)), asRow(columns - 1 - iota(48))); // false outside
        Flags.store(0, turned & (x > 0));
      },
      x, seen, y, flags);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      EXPECT_EQ(y(i, j), seen(i, j).byte != 0 ? x(i, j) : -9.f) << i << ", " << j;
      EXPECT_EQ(flags(i, j).byte, seen(i, columns - 1 - j).byte != 0 && x(i, j) > 0 ? 1 : 0) << i << ", " << j;
    }
}

TEST_P(Conditions, OfRowsAndColumns) {
  constexpr int64_t rows = 37, columns = 50;
  auto x = Array<float>::random({rows, columns}, 2, -1, 1);
  for (int64_t j = 0; j < columns; ++j) {
    x(5, j) = 0.5f;
    x(11, j) = -1;
    x(36, j) = j == 49 ? 1.f : -1.f;
  }
  for (int64_t i = 0; i < rows; ++i)
    x(i, 7) = 1;
  Array<float> y({3, columns}, 7);
  Array<Flag> flags({4, rows}, Flag{7}), seen({1});
  runWithFlags(
      [](View X, View, View Y, View Flags) {
        Value positive = X.load(0, {rows, columns}) > 0;
        auto row = [](Value condition) { return asRow(condition); };
        Flags.store({0, 0}, row(any(positive, 1)));
        Flags.store({1, 0}, row(all(positive, 1)));
        Flags.store({2, 0}, row(any(!positive, 1) & all(!positive | positive, 1)));
        Flags.store({3, 0}, broadcast(asRow(any(all(positive, 1), 0)), {1, rows}));
        Y.store({0, 0}, select(row(any(positive, 0)), 1.0, 0.0));
        Y.store({1, 0}, select(row(all(positive, 0)), 1.0, 0.0));
        when(
            all(positive),
            [&] {
              Y.store({2, 0}, 1.0);
            },
            [&] {
              Y.store({2, 0}, 0.0);
            });
        when(all(positive | !positive) & any(positive), [&] { Y.store({2, 1}, 2.0); });
      },
      x, seen, y, flags);
  for (int64_t i = 0; i < rows; ++i) {
    int count = 0;
    for (int64_t j = 0; j < columns; ++j)
      count += x(i, j) > 0;
    EXPECT_EQ(flags(0, i).byte, count > 0) << i;
    EXPECT_EQ(flags(1, i).byte, count == columns) << i;
    EXPECT_EQ(flags(2, i).byte, count < columns) << i;
    EXPECT_EQ(flags(3, i).byte, 1) << i; // row 5
  }
  for (int64_t j = 0; j < columns; ++j) {
    int count = 0;
    for (int64_t i = 0; i < rows; ++i)
      count += x(i, j) > 0;
    EXPECT_EQ(y(0, j), count > 0) << j;
    EXPECT_EQ(y(1, j), count == rows) << j;
  }
  EXPECT_EQ(y(2, 0), 0);
  EXPECT_EQ(y(2, 1), 2);
}

/// Diagonals before, in and beyond the accumulators of a product, alone and combined.
TEST_P(Conditions, OfPositionsInAProduct) {
  constexpr int64_t rows = 64, columns = 128, count = 41;
  auto a = Array<Bf16>::random({rows, 16}, 3), b = Array<Bf16>::random({16, columns}, 4);
  Array<float> all({rows, columns}), below({count * rows, columns}), band({count * rows, columns}),
      corner({count * rows, columns}), either({count * rows, columns});
  auto shiftAt = [](auto i) { return i * 5 - 70; };
  run(
      [=](View A, View B, View All, View Below, View Band, View Corner, View Either) {
        for (Value i : range(0, count)) {
          Value c = dot(A.load(0, {rows, 16}), B.load(0, {16, columns}));
          Value row = asColumn(iota(rows)), column = asRow(iota(columns)), distance = column - row;
          Value isBelow = distance <= shiftAt(i), isInBand = isBelow & (distance >= shiftAt(i) - 40);
          Value isInCorner = isBelow & (column + row <= shiftAt(i) + 60);
          Value isInPeriod = ((row + i * rows) & 127) >= (column & 127);
          All.store(0, c);
          Below.store({i * rows, 0}, select(isBelow, c, -9.0));
          Band.store({i * rows, 0}, select(isInBand, c, -9.0));
          Corner.store({i * rows, 0}, select(isInCorner, c, -9.0));
          Either.store({i * rows, 0}, select(isInPeriod | !isInBand, -9.0, c));
        }
      },
      a, b, all, below, band, corner, either);
  for (int64_t n = 0; n < count * rows; ++n)
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t i = n % rows, distance = j - i, shift = shiftAt(n / rows);
      const bool isBelow = distance <= shift, isInBand = isBelow && distance >= shift - 40;
      ASSERT_EQ(below(n, j), isBelow ? all(i, j) : -9.f) << i << ", " << j << " with " << shift;
      ASSERT_EQ(band(n, j), isInBand ? all(i, j) : -9.f) << i << ", " << j << " with " << shift;
      ASSERT_EQ(corner(n, j), isBelow && j + i <= shift + 60 ? all(i, j) : -9.f) << i << ", " << j << " with " << shift;
      ASSERT_EQ(either(n, j), n % 128 >= j || !isInBand ? -9.f : all(i, j)) << i << ", " << j << " with " << shift;
    }
}

/// Positions that are much further from the tile than its elements from each other.
TEST_P(Conditions, OfFarPositions) {
  constexpr int64_t rows = 64, columns = 128, far = int64_t{1} << 40;
  auto a = Array<Bf16>::random({rows, 16}, 3), b = Array<Bf16>::random({16, columns}, 4);
  Array<float> all({rows, columns}), y({4 * rows, columns});
  run(
      [=](View A, View B, View All, View Y) {
        Value c = dot(A.load(0, {rows, 16}), B.load(0, {16, columns}));
        All.store(0, c);
        for (Value i : range(0, 2)) {
          Value shift = cast(i64, i) * (2 * far) - far;
          Value distance = cast(i64, asRow(iota(columns)) - asColumn(iota(rows)));
          Y.store({i * rows, 0}, select(distance <= shift, c, -9.0));
          Y.store({(i + 2) * rows, 0}, select(distance >= shift, c, -9.0));
        }
      },
      a, b, all, y);
  for (int64_t n = 0; n < 4 * rows; ++n)
    for (int64_t j = 0; j < columns; ++j) {
      const bool isChosen = n / rows == 1 || n / rows == 2;
      ASSERT_EQ(y(n, j), isChosen ? all(n % rows, j) : -9.f) << n << ", " << j;
    }
}

/// Each token chooses two of eight experts. A list of conditions tells the tokens that chose one of the first three.
TEST_P(Conditions, OfLists) {
  Array<int32_t> first({64}), second({64}), none({64}), y({64});
  for (int64_t i = 0; i < 64; ++i) {
    first(i) = static_cast<int32_t>(i % 8);
    second(i) = static_cast<int32_t>(i * 3 % 7);
  }
  run(
      [](View First, View Second, View None, View Y) {
        Value a = First.load(0, {64}), b = Second.load(0, {64});
        std::vector<Value> chosen;
        for (int expert : {0, 1, 2})
          chosen.push_back(anyOf({a == expert, b == expert}));
        Y.store(0, select(anyOf(chosen), 1, 0) + select(allOf({a == b, iota(64) > 8, a < 3}), 10, 0));
        None.store(0, select(anyOf(std::vector<Value>()), 1, 0) + select(allOf({}), iota(64), -1));
      },
      first, second, none, y);
  for (int64_t i = 0; i < 64; ++i) {
    const bool isChosen = first(i) < 3 || second(i) < 3, isSame = first(i) == second(i) && i > 8 && first(i) < 3;
    EXPECT_EQ(y(i), (isChosen ? 1 : 0) + (isSame ? 10 : 0)) << i;
    EXPECT_EQ(none(i), i);
  }
}

INSTANTIATE_TEST_SUITE_P(Lanes, Conditions, ::testing::ValuesIn(testedLanes()));

} // namespace
} // namespace tegula::language
