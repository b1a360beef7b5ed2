// SPDX-License-Identifier: MIT
// Columns of tiles: taken, joined and interleaved.
#include "language/machine.h"

namespace tegula::language {
namespace {

class Columns : public Language {
protected:
  /// Takes columns of a tile of 24 rows, and of a vector.
  template <class T> void checkColumns(int64_t size, int64_t begin, int64_t end, int64_t step) {
    auto a = Array<T>::random({24, size}, 1, -100, 100);
    const int64_t count = (end - begin + step - 1) / step;
    Array<T> y({24, count}), z({count});
    run(
        [=](View A, View Y, View Z) {
          Y.store(0, columns(A.load(0, {24, size}), begin, end, step));
          Z.store(0, columns(A.at(7).load(0, {size}), begin, end, step));
        },
        a, y, z);
    for (int64_t j = 0; j < count; ++j) {
      EXPECT_EQ(z(j), a(7, begin + step * j));
      for (int64_t i = 0; i < 24; ++i)
        EXPECT_EQ(y(i, j), a(i, begin + step * j)) << i << ", " << j << " of " << size << " from " << begin;
    }
  }

  template <class T> void checkJoin(int64_t left, int64_t right) {
    auto a = Array<T>::random({40, left}, 2, -100, 100), b = Array<T>::random({40, right}, 3, -100, 100);
    Array<T> joined({40, left + right}), interleaved({40, 2 * left});
    run(
        [=](View A, View B, View Joined, View Interleaved) {
          Value a = A.load(0, {40, left}), b = B.load(0, {40, right});
          Joined.store(0, joinColumns(a, b));
          if (left <= right)
            Interleaved.store(0, interleaveColumns(a, columns(b, 0, left)));
        },
        a, b, joined, interleaved);
    for (int64_t i = 0; i < 40; ++i) {
      for (int64_t j = 0; j < left + right; ++j)
        EXPECT_EQ(joined(i, j), j < left ? a(i, j) : b(i, j - left)) << i << ", " << j;
      for (int64_t j = 0; left <= right && j < 2 * left; ++j)
        EXPECT_EQ(interleaved(i, j), j % 2 == 0 ? a(i, j / 2) : b(i, j / 2)) << i << ", " << j;
    }
  }
};

TEST_P(Columns, AreTakenFromTilesOfEveryType) {
  for (int64_t size : {16, 96, 128}) {
    checkColumns<float>(size, 0, size / 2, 1);
    checkColumns<float>(size, size / 2, size, 1);
    checkColumns<Bf16>(size, 0, size, 2);
    checkColumns<Bf16>(size, 1, size, 2);
    checkColumns<int8_t>(size, 3, size - 2, 1);
    checkColumns<int64_t>(size, 5, size, 3);
    checkColumns<int32_t>(size, size - 1, size, 1);
  }
  checkColumns<float>(7, 1, 7, 2);
  checkColumns<float>(33, 0, 32, 1);
  checkColumns<Bf16>(192, 128, 192, 1);
  checkColumns<Bf16>(192, 0, 128, 1);
}

TEST_P(Columns, AreJoined) {
  checkJoin<float>(64, 64);
  checkJoin<float>(32, 96);
  checkJoin<Bf16>(128, 64);
  checkJoin<Bf16>(5, 11);
  checkJoin<int8_t>(16, 16);
  checkJoin<int64_t>(1, 7);
  checkJoin<int32_t>(48, 80);
}

TEST_P(Columns, OfConditionsAreConditions) {
  auto a = Array<float>::random({16, 48}, 4);
  Array<float> y({16, 48}), z({16, 24});
  run(
      [](View A, View Y, View Z) {
        Value a = A.load(0, {16, 48}), positive = a > 0;
        Value turned = joinColumns(columns(positive, 40, 48), columns(positive, 0, 40));
        Y.store(0, select(turned, a, -1.0));
        Z.store(0, select(columns(positive, 0, 48, 2) & columns(positive, 1, 48, 2), 1.0, 0.0));
      },
      a, y, z);
  for (int64_t i = 0; i < 16; ++i)
    for (int64_t j = 0; j < 48; ++j) {
      EXPECT_EQ(y(i, j), a(i, (j + 40) % 48) > 0 ? a(i, j) : -1.f);
      EXPECT_EQ(z(i, j / 2), a(i, j / 2 * 2) > 0 && a(i, j / 2 * 2 + 1) > 0 ? 1.f : 0.f);
    }
}

/// Rotary positions (Su et al. 2021) turn pairs of columns by angles. The pairs are neighbours, or halves of a row.
TEST_P(Columns, TurnPairsByAngles) {
  constexpr int64_t rows = 32, width = 64;
  auto x = Array<Bf16>::random({rows, width}, 5);
  auto angle = Array<float>::random({rows, width / 2}, 6);
  Array<float> neighbours({rows, width}), halves({rows, width});
  run(
      [](View X, View Angle, View Neighbours, View Halves) {
        Value x = X.load(0, {rows, width}), t = Angle.load(0, {rows, width / 2}), c = cos(t), s = sin(t);
        Value even = columns(x, 0, width, 2), odd = columns(x, 1, width, 2);
        Neighbours.store(0, interleaveColumns(even * c - odd * s, even * s + odd * c));
        Value low = columns(x, 0, width / 2), high = columns(x, width / 2, width);
        Halves.store(0, joinColumns(low * c - high * s, low * s + high * c));
      },
      x, angle, neighbours, halves);
  auto expectTurned = [](float first, float second, float a, float b, float t) {
    EXPECT_NEAR(first, a * std::cos(t) - b * std::sin(t), 1e-5);
    EXPECT_NEAR(second, a * std::sin(t) + b * std::cos(t), 1e-5);
  };
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < width / 2; ++j) {
      expectTurned(neighbours(i, 2 * j), neighbours(i, 2 * j + 1), x(i, 2 * j), x(i, 2 * j + 1), angle(i, j));
      expectTurned(halves(i, j), halves(i, j + width / 2), x(i, j), x(i, j + width / 2), angle(i, j));
    }
}

/// The first product of a gated layer gives gates and values in turns. What is left is the operand of the second one.
TEST_P(Columns, GateNeighboursBetweenTwoProducts) {
  constexpr int64_t rows = 64, depth = 32, width = 64;
  auto x = Array<Bf16>::random({rows, depth}, 7), up = Array<Bf16>::random({depth, 2 * width}, 8),
       down = Array<Bf16>::random({width, depth}, 9);
  Array<float> y({rows, depth});
  run(
      [](View X, View Up, View Down, View Y) {
        Value h = dot(X.load(0, {rows, depth}), Up.load(0, {depth, 2 * width})) * 0.1;
        Value gated = silu(columns(h, 0, 2 * width, 2)) * (columns(h, 1, 2 * width, 2) + 1);
        Y.store(0, dot(cast(bf16, gated), Down.load(0, {width, depth})));
      },
      x, up, down, y);
  for (int64_t i = 0; i < rows; ++i) {
    std::vector<float> gated(width);
    for (int64_t n = 0; n < width; ++n) {
      float gate = 0, value = 0;
      for (int64_t k = 0; k < depth; ++k) {
        gate += 0.1f * x(i, k) * up(k, 2 * n);
        value += 0.1f * x(i, k) * up(k, 2 * n + 1);
      }
      gated[n] = Bf16(gate / (1 + std::exp(-gate)) * (value + 1));
    }
    for (int64_t j = 0; j < depth; ++j) {
      float sum = 0, size = 0;
      for (int64_t n = 0; n < width; ++n) {
        sum += gated[n] * down(n, j);
        size += std::abs(gated[n] * down(n, j));
      }
      EXPECT_NEAR(y(i, j), sum, 0.01f * size) << i << ", " << j;
    }
  }
}

TEST_P(Columns, OfProductsAreStoredApart) {
  auto a = Array<Bf16>::random({64, 16}, 10), b = Array<Bf16>::random({16, 96}, 11);
  Array<float> low({64, 32}), high({64, 64}), swapped({64, 96});
  run(
      [](View A, View B, View Low, View High, View Swapped) {
        Value c = dot(A.load(0, {64, 16}), B.load(0, {16, 96}));
        Low.store(0, columns(c, 0, 32));
        High.store(0, columns(c, 32, 96));
        Swapped.store(0, joinColumns(columns(c, 32, 96), columns(c, 0, 32)));
      },
      a, b, low, high, swapped);
  for (int64_t i = 0; i < 64; ++i)
    for (int64_t j = 0; j < 96; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < 16; ++k)
        sum += a(i, k) * b(k, j);
      EXPECT_NEAR(j < 32 ? low(i, j) : high(i, j - 32), sum, 1e-4f) << i << ", " << j;
      EXPECT_NEAR(swapped(i, (j + 64) % 96), sum, 1e-4f) << i << ", " << j;
    }
}

INSTANTIATE_TEST_SUITE_P(Lanes, Columns, ::testing::ValuesIn(testedLanes()));

} // namespace
} // namespace tegula::language
