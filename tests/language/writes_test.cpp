// SPDX-License-Identifier: MIT
// Stores of chosen elements, and of elements to computed places.
#include "language/machine.h"

namespace tegula::language {
namespace {

class Writes : public Language {
protected:
  /// Stores a tile of 16 x 64 elements, at a position, where (i + j) % 3 != 0 and where i % 4 < 2.
  template <class T> void checkStoreWhere(int64_t rows, int64_t columns, int row, int column) {
    auto a = Array<T>::random({16, 64}, 1, -100, 100);
    const T old = T(5);
    Array<T> elements({rows, columns}, old), lines({rows, columns}, old);
    run(
        [=](View A, View Elements, View Lines) {
          Value i = asColumn(iota(16)), j = asRow(iota(64)), tile = A.load(0, {16, 64});
          Elements.storeWhere((i + j) % 3 != 0, {row, column}, tile);
          Lines.storeWhere(i % 4 < 2, {row, column}, tile);
        },
        a, elements, lines);
    for (int64_t y = 0; y < rows; ++y)
      for (int64_t x = 0; x < columns; ++x) {
        const int64_t i = y - row, j = x - column;
        const bool covered = i >= 0 && i < 16 && j >= 0 && j < 64;
        EXPECT_EQ(elements(y, x), covered && (i + j) % 3 != 0 ? a(i, j) : old) << y << ", " << x;
        EXPECT_EQ(lines(y, x), covered && i % 4 < 2 ? a(i, j) : old) << y << ", " << x;
      }
  }

  /// Writes 40 rows of 64 elements to the rows that a tensor says. Some of them do not exist.
  template <class T> void checkRows(int64_t columns) {
    auto a = Array<T>::random({40, 64}, 2, -100, 100);
    const T old = T(5);
    Array<int32_t> row({40});
    std::vector<int64_t> from(30, -1);
    for (int64_t i = 0; i < 40; ++i) {
      row(i) = static_cast<int32_t>(i * 17 % 40) - 4; // -4 to 35, each once
      if (row(i) >= 0 && row(i) < 30)
        from[row(i)] = i;
    }
    Array<T> y({30, columns}, old);
    run(
        [](View A, View Row, View Y) {
          Y.scatter(A.load(0, {40, 64}), asColumn(Row.load(0, {40})), asRow(iota(64)));
        },
        a, row, y);
    for (int64_t i = 0; i < 30; ++i)
      for (int64_t j = 0; j < columns; ++j)
        EXPECT_EQ(y(i, j), from[i] >= 0 && j < 64 ? a(from[i], j) : old) << i << ", " << j;
  }
};

TEST_P(Writes, StoreWhereKeepsOtherElementsOfEveryType) {
  checkStoreWhere<float>(16, 64, 0, 0);
  checkStoreWhere<float>(13, 61, -2, 3);
  checkStoreWhere<Bf16>(16, 64, 0, 0);
  checkStoreWhere<Bf16>(20, 66, 1, -7);
  checkStoreWhere<int64_t>(16, 64, 0, 0);
  checkStoreWhere<int32_t>(19, 80, 2, 16);
  checkStoreWhere<int8_t>(16, 64, 0, 0);
  checkStoreWhere<int8_t>(16, 63, 0, 0);
}

TEST_P(Writes, RowsOfEveryTypeGoToThePlacesThatATensorSays) {
  checkRows<float>(64);
  checkRows<Bf16>(64);
  checkRows<Bf16>(50);
  checkRows<int64_t>(64);
  checkRows<int32_t>(70);
  checkRows<int8_t>(64);
}

TEST_P(Writes, ScalarsAreRoundedAndRepeat) {
  Array<Bf16> x({8}, Bf16(9)), y({8}, Bf16(9));
  Array<int64_t> z({2, 4}, 7);
  run(
      [](View X, View Y, View Z) {
        X.storeWhere(iota(8) >= 5, 0, 1.00390625); // halfway to the next bf16
        Y.scatter(2.5, 3);
        Y.scatter(1.5, -1);
        Z.scatter(iota(4), 1, 3 - iota(4));
        Z.storeWhere(Z.gather(1, 0) == 3, 0, -1);
        Z.storeWhere(Z.gather(1, 0) == 4, {0, 1}, -2);
      },
      x, y, z);
  for (int64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(x(i), i < 5 ? 9.f : 1.f);
    EXPECT_EQ(y(i), i == 3 ? 2.5f : 9.f);
  }
  for (int64_t j = 0; j < 4; ++j) {
    EXPECT_EQ(z(0, j), j == 0 ? -1 : 7);
    EXPECT_EQ(z(1, j), 3 - j);
  }
}

TEST_P(Writes, WhatScattersWroteIsLoadedAfterwards) {
  auto a = Array<float>::random({32, 16}, 3);
  Array<float> reversed({32, 16}), again({32, 16});
  run(
      [](View A, View Reversed, View Again) {
        Value i = iota(32);
        Reversed.scatter(A.load(0, {32, 16}), asColumn(31 - i), asRow(iota(16)));
        Again.storeWhere(asColumn(i) < 20, 0, Reversed.load(0, {32, 16}));
        Again.storeWhere(asColumn(i) >= 20, 0, Reversed.gather(asColumn(i), asRow(15 - iota(16))));
      },
      a, reversed, again);
  for (int64_t i = 0; i < 32; ++i)
    for (int64_t j = 0; j < 16; ++j) {
      EXPECT_EQ(reversed(i, j), a(31 - i, j));
      EXPECT_EQ(again(i, j), a(31 - i, i < 20 ? j : 15 - j));
    }
}

TEST_P(Writes, ProductsAreWrittenWhereAConditionHoldsAndToOtherRows) {
  auto a = Array<Bf16>::random({64, 32}, 4), b = Array<Bf16>::random({32, 64}, 5);
  Array<Bf16> lower({64, 64}, Bf16(9)), turned({64, 64}, Bf16(9));
  run(
      [](View A, View B, View Lower, View Turned) {
        Value product = dot(A.load(0, {64, 32}), B.load(0, {32, 64}));
        Value i = asColumn(iota(64)), j = asRow(iota(64));
        Lower.storeWhere(j <= i, 0, product);
        Turned.scatter(product, (i + 40) % 64, j);
      },
      a, b, lower, turned);
  for (int64_t i = 0; i < 64; ++i)
    for (int64_t j = 0; j < 64; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < 32; ++k)
        sum += a(i, k) * b(k, j);
      EXPECT_NEAR(lower(i, j), j <= i ? sum : 9.f, 0.1f) << i << ", " << j;
      EXPECT_NEAR(turned((i + 40) % 64, j), sum, 0.1f) << i << ", " << j;
    }
}

/// A mixture of experts sorts its tokens: the rows of each expert lie together, in the order of the tokens, and begin
/// at a multiple of 8. Tokens whose expert has no room are dropped.
TEST_P(Writes, TokensAreSortedByExpert) {
  constexpr int64_t tokens = 48, experts = 4, width = 32, room = 8;
  auto x = Array<Bf16>::random({tokens, width}, 6);
  Array<int32_t> expert({tokens}), place({tokens});
  for (int64_t t = 0; t < tokens; ++t)
    expert(t) = static_cast<int32_t>(t * t % 7 % experts);
  Array<Bf16> sorted({experts * room, width}, Bf16(9));
  run(
      [](View X, View Expert, View Sorted, View Place) {
        Value of = Expert.load(0, {tokens});
        Value isOf = asColumn(of) == asRow(iota(experts));  // [tokens, experts]
        Value number = cumsum(select(isOf, 1, 0), 0) - 1;   // among the expert's tokens
        Value rank = reduceSum(select(isOf, number, 0), 1); // [tokens]
        Value row = select(rank < int(room), of * int(room) + rank, -1);
        Sorted.scatter(X.load(0, {tokens, width}), asColumn(row), asRow(iota(width)));
        Place.store(0, row);
      },
      x, expert, sorted, place);
  Array<Bf16> expected({experts * room, width}, Bf16(9));
  std::vector<int64_t> next(experts, 0);
  for (int64_t t = 0; t < tokens; ++t) {
    const int64_t rank = next[expert(t)]++, row = rank < room ? expert(t) * room + rank : -1;
    EXPECT_EQ(place(t), row);
    for (int64_t j = 0; row >= 0 && j < width; ++j)
      expected(row, j) = x(t, j);
  }
  for (int64_t i = 0; i < experts * room; ++i)
    for (int64_t j = 0; j < width; ++j)
      EXPECT_EQ(sorted(i, j), expected(i, j)) << i << ", " << j;
}

INSTANTIATE_TEST_SUITE_P(Lanes, Writes, ::testing::ValuesIn(testedLanes()));

/// Returns the status of a program whose elements all have one place.
Status writeAllToOnePlace(const std::shared_ptr<Device> &device, Array<float> &y) {
  auto kernel = [](View Y) { Y.scatter(cast(f32, iota(64)), iota(64) * 0 + 1); };
  Program program = testing::valueOf(record("kernel", kernel, TensorArg{"y", f32, 1}));
  static std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  KernelCache cache(*compiler, device);
  OnDevice<float> memory(y);
  const Status status = testing::valueOf(cache.get(program.text))->launch(Grid{1, 1, 1}, {memory.ref()});
  EXPECT_TRUE(memory.readBack());
  return status;
}

/// These tests choose their devices.
class WritesToOnePlace : public ::testing::Test {
  void SetUp() override {
    if (testing::onGpu())
      GTEST_SKIP() << "a GPU test cannot run two devices";
  }
};

TEST_F(WritesToOnePlace, LeaveOneOfTheElements) {
  Array<float> y({3}, -1);
  EXPECT_TRUE(writeAllToOnePlace(testing::valueOf(cpuDevice()), y).ok());
  EXPECT_EQ(y(0), -1);
  EXPECT_GE(y(1), 0);
  EXPECT_LT(y(1), 64);
  EXPECT_EQ(y(2), -1);
}

TEST_F(WritesToOnePlace, AreARaceInTheExecutor) {
  for (const char *arch : {"sm_80", "sm_90a"}) {
    Array<float> y({3}, -1);
    const Status status = writeAllToOnePlace(testing::valueOf(simtDevice({.arch = arch})), y);
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find("race"), std::string::npos) << status.message();
  }
}

} // namespace
} // namespace tegula::language
