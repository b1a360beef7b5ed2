// SPDX-License-Identifier: MIT
#include "language/machine.h"

namespace tegula::language {
namespace {

class Memory : public Language {};

TEST_P(Memory, TilesAtEdgesAreFilledAndClipped) {
  for (int64_t startRow : {-3, 0, 4, 9, 100})
    for (int64_t startColumn : {-5, 0, 6, 30}) {
      auto a = Array<float>::random({9, 23}, 1);
      Array<float> loaded({8, 20}), stored({9, 23}, -1);
      run(
          [=](View A, View Loaded, View Stored) {
            Value tile = A.load({constant(DType::index, startRow), constant(DType::index, startColumn)}, {8, 20}, 7.5);
            Loaded.store(0, tile);
            Stored.store({constant(DType::index, startRow), constant(DType::index, startColumn)}, tile);
          },
          a, loaded, stored);
      for (int64_t i = 0; i < 8; ++i)
        for (int64_t j = 0; j < 20; ++j) {
          int64_t row = startRow + i, column = startColumn + j;
          bool inside = row >= 0 && row < 9 && column >= 0 && column < 23;
          EXPECT_EQ(loaded(i, j), inside ? a(row, column) : 7.5f) << row << ", " << column;
        }
      for (int64_t row = 0; row < 9; ++row)
        for (int64_t column = 0; column < 23; ++column) {
          bool covered = row >= startRow && row < startRow + 8 && column >= startColumn && column < startColumn + 20;
          EXPECT_EQ(stored(row, column), covered ? a(row, column) : -1.f) << row << ", " << column;
        }
    }
}

template <class T> void checkCopy(int lanes) {
  auto a = Array<T>::random({6, 37}, 2, -100, 100);
  Array<T> y({6, 37});
  run(lanes, Grid{1, 1, 1}, [](View A, View Y) { Y.store(0, A.load(0, {6, 40})); }, a, y);
  EXPECT_EQ(0, std::memcmp(a.data.data(), y.data.data(), a.data.size() * sizeof(T)));
}

TEST_P(Memory, EveryElementTypeIsCopiedBitForBit) {
  checkCopy<float>(GetParam());
  checkCopy<Bf16>(GetParam());
  checkCopy<int64_t>(GetParam());
  checkCopy<int32_t>(GetParam());
  checkCopy<int8_t>(GetParam());
}

TEST_P(Memory, SlicesOutsideAreEmpty) {
  auto a = Array<float>::random({3, 4, 5}, 3);
  Array<float> y({5, 4, 5}, -1);
  runOn(
      Grid{5, 1, 1},
      [](View A, View Y) {
        Value i = programId(0) - 1; // -1 to 3: the first and the last are outside
        Y.at(programId(0)).store(0, A.at(i).load(0, {4, 5}, 9));
        A.at(i - 100).store(0, fill({4, 5}, 0.0));
      },
      a, y);
  for (int64_t p = 0; p < 5; ++p)
    for (int64_t i = 0; i < 4; ++i)
      for (int64_t j = 0; j < 5; ++j)
        EXPECT_EQ(y(p, i, j), p >= 1 && p <= 3 ? a(p - 1, i, j) : 9.f);
}

TEST_P(Memory, GatherReadsZeroOutside) {
  auto table = Array<float>::random({10, 6}, 4);
  Array<Bf16> narrow({10});
  for (int64_t i = 0; i < 10; ++i)
    narrow(i) = static_cast<float>(i);
  Array<int32_t> index({33});
  for (int64_t i = 0; i < 33; ++i)
    index(i) = static_cast<int32_t>(i * 7 % 20) - 5;
  Array<float> y({33, 8}), z({33});
  run(
      [](View Table, View Narrow, View Index, View Y, View Z) {
        Value at = Index.load(0, {33});
        Y.store(0, Table.gather(asColumn(at), asRow(iota(8))));
        Z.store(0, Narrow.gather(at) + 0.0);
      },
      table, narrow, index, y, z);
  for (int64_t i = 0; i < 33; ++i) {
    bool row = index(i) >= 0 && index(i) < 10;
    EXPECT_EQ(z(i), row ? static_cast<float>(index(i)) : 0.f);
    for (int64_t j = 0; j < 8; ++j)
      EXPECT_EQ(y(i, j), row && j < 6 ? table(index(i), j) : 0.f);
  }
}

TEST_P(Memory, OneElementBoundsALoopAndIsAPosition) {
  Array<int32_t> begin({2, 3}), end({3});
  const int32_t begins[] = {0, 2, 5, 1, 1, 4}, ends[] = {6, 3, 5};
  std::copy(begins, begins + 6, &begin(0));
  std::copy(ends, ends + 3, &end(0));
  Array<Bf16> factor({3});
  for (int64_t p = 0; p < 3; ++p)
    factor(p) = 0.5f * static_cast<float>(p + 1);
  auto table = Array<float>::random({8}, 6);
  Array<float> sum({4, 4}), row({4, 4});
  runOn(
      Grid{4, 1, 1},
      [](View Begin, View End, View Factor, View Table, View Sum, View Row) {
        Value p = programId(0); // Element 3 does not exist and reads as 0.
        Var total = fill({1, 4}, 0.0);
        for (Value at : range(Begin.gather(1, p), End.gather(p)))
          total = total + Table.gather(at) * Factor.gather(cast(i32, p));
        Sum.store({p, 0}, total);
        Row.store({p, 0}, reshape(Table.load(Begin.gather(0, p), {4}), {1, 4}));
      },
      begin, end, factor, table, sum, row);
  for (int64_t p = 0; p < 4; ++p) {
    float total = 0;
    for (int64_t at = p < 3 ? begin(1, p) : 0; at < (p < 3 ? end(p) : 0); ++at)
      total += table(at) * factor(p);
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(sum(p, i), total, 1e-5f);
      const int64_t at = (p < 3 ? begin(0, p) : 0) + i;
      EXPECT_EQ(row(p, i), at < 8 ? table(at) : 0.f);
    }
  }
}

TEST_P(Memory, AdditionsFromManyInstancesAreAllThere) {
  Array<float> sum({5, 21}), scattered({10});
  Array<int32_t> count({5, 21});
  runOn(
      Grid{500, 1, 1},
      [](View Sum, View Count, View Scattered) {
        Sum.atomicAdd({2, 0}, fill({8, 24}, 1.0)); // rows 5 to 9 and columns 21 to 23 are outside
        Count.atomicAdd(0, cast(i32, broadcast(asColumn(iota(5)), {5, 21})));
        Value index = (iota(16) + cast(i32, programId(0))) % 12; // 10 and 11 are outside
        Scattered.scatterAdd(fill({16}, 1.0), index);
      },
      sum, count, scattered);
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t j = 0; j < 21; ++j) {
      EXPECT_EQ(sum(i, j), i >= 2 ? 500.f : 0.f);
      EXPECT_EQ(count(i, j), 500 * i);
    }
  std::vector<float> expected(12);
  for (int p = 0; p < 500; ++p)
    for (int i = 0; i < 16; ++i)
      expected[(i + p) % 12] += 1;
  for (int64_t i = 0; i < 10; ++i)
    EXPECT_EQ(scattered(i), expected[i]);
}

/// Returns what program instances 0 to n - 1 add to a large number in this order, which rounds each sum.
float sumInOrder(int n) {
  float sum = 1e6f;
  for (int i = 0; i < n; ++i)
    sum += float(i) * 0.37f;
  return sum;
}

TEST_P(Memory, AdditionsInTurnsHaveTheOrderOfInstances) {
  constexpr int64_t instances = 200;
  Array<float> sum({6, 20}, 1e6f);
  Array<int32_t> turns({3, 2});
  for (int repetition = 0; repetition < 3; ++repetition) {
    std::fill(sum.data.begin(), sum.data.end(), 1e6f);
    std::fill(turns.data.begin(), turns.data.end(), 0);
    runOn(
        Grid{instances, 1, 1},
        [](View Sum, View Turns) {
          Value p = programId(0);
          for (Value i : range(0, 3)) // Each tile has its counter. The last one lies outside the counters.
            Sum.orderedAdd({2 * i, 0}, cast(f32, broadcast(cast(i32, p), {2, 24})) * 0.37, {Turns.at(1), i, p, p + 1});
        },
        sum, turns);
    for (int64_t i = 0; i < 4; ++i)
      for (int64_t j = 0; j < 20; ++j)
        EXPECT_EQ(sum(i, j), sumInOrder(instances)) << i << ", " << j;
    for (int64_t j = 0; j < 20; ++j)
      EXPECT_NEAR(sum(5, j), sumInOrder(instances), 8);
    EXPECT_EQ(turns.data, (std::vector<int32_t>{0, 0, instances, instances, 0, 0}));
  }
}

TEST_P(Memory, ColumnMajorTilesAreStoredAndAddedElementByElement) {
  auto a = Array<float>::random({10, 16}, 5), b = Array<float>::random({14, 16}, 6);
  Array<float> y({10, 14}), z({10, 14}, 1);
  run(
      [](View A, View B, View Y, View Z) {
        Value a = A.load(0, {12, 16});
        for (Value j : range(0, B.dim(0), 8)) {
          Value s = dot(a, transpose(B.load(j, {8, 16}))); // column-major: a is transposed once, outside the loop
          Y.store({0, j}, s);
          Z.atomicAdd({0, j}, s);
        }
      },
      a, b, y, z);
  for (int64_t i = 0; i < 10; ++i)
    for (int64_t j = 0; j < 14; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < 16; ++k)
        sum += double{a(i, k)} * b(j, k);
      EXPECT_NEAR(y(i, j), sum, 1e-4);
      EXPECT_NEAR(z(i, j), sum + 1, 1e-4);
    }
}

INSTANTIATE_TEST_SUITE_P(Lanes, Memory, ::testing::ValuesIn(testedLanes()));

} // namespace
} // namespace tegula::language
