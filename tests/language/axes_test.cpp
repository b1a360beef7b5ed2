// SPDX-License-Identifier: MIT
// Dimensions that are fixed between others (View::atAxis), against plain loops.
#include "language/machine.h"

#include <algorithm>

namespace tegula::language {
namespace {

constexpr int64_t kFirst = 3, kSecond = 4, kRows = 5, kColumns = 20;
/// Indices of the second dimension that a program may find in memory. Those that are outside leave nothing.
constexpr int32_t kIndices[] = {
    2, 0, -1, 4, 3, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
constexpr int64_t kCases = std::size(kIndices);

bool isIndex(int64_t p) { return kIndices[p] >= 0 && kIndices[p] < kSecond; }

template <class T> void expectSameBits(Array<T> &actual, Array<T> &expected) {
  EXPECT_EQ(0, std::memcmp(actual.data.data(), expected.data.data(), actual.data.size() * sizeof(T)));
}

class Axes : public Language {
protected:
  Axes() { std::ranges::copy(kIndices, index.data.begin()); }

  template <class Kernel, class... T> void runAll(const Kernel &kernel, Array<T> &...arrays) {
    runOn(Grid{kCases, 1, 1}, kernel, index, arrays...);
  }

  Array<int32_t> index = Array<int32_t>({kCases});
};

/// Returns element [i, index of case p, j, k] of a tensor for each case. The index is one of the dimension.
template <class T> T &element(Array<T> &x, int64_t p, int64_t i, int64_t j, int64_t k) {
  return x.data[(((p * kFirst + i) * kSecond + kIndices[p]) * kRows + j) * kColumns + k];
}

Array<float> tensors(int seed) { return Array<float>::random({kCases, kFirst, kSecond, kRows, kColumns}, seed); }

/// The part of the tensor of this program instance.
View partOf(View tensor, View index) { return tensor.at(programId(0)).atAxis(1, index.gather(programId(0))); }

TEST_P(Axes, LoadsHaveTheOtherDimensions) {
  auto x = tensors(1);
  Array<float> y({kCases, 2, 8, kColumns}), gathered({kCases, 8});
  Array<int32_t> sizes({kCases, 3});
  runAll(
      [](View Index, View X, View Y, View Gathered, View Sizes) {
        const View part = partOf(X, Index);
        Y.at(programId(0)).store(0, part.load({2, -1, 1}, {2, 8, kColumns}, 7.5));
        Gathered.at(programId(0)).store(0, part.gather(iota(8) - 3, iota(8) % 5, 4));
        for (int axis = 0; axis < 3; ++axis)
          Sizes.store({programId(0), axis}, fill({1, 1}, 0) + cast(i32, part.dim(axis)));
      },
      x, y, gathered, sizes);
  for (int64_t p = 0; p < kCases; ++p) {
    const int64_t expected[] = {kFirst, kRows, kColumns};
    for (int64_t axis = 0; axis < 3; ++axis)
      EXPECT_EQ(sizes(p, axis), isIndex(p) ? expected[axis] : 0) << p;
    const auto at = [&](int64_t i, int64_t j, int64_t k, float otherwise) {
      const bool exists = isIndex(p) && i >= 0 && i < kFirst && j >= 0 && j < kRows && k < kColumns;
      return exists ? element(x, p, i, j, k) : otherwise;
    };
    for (int64_t n = 0; n < 8; ++n)
      EXPECT_EQ(gathered(p, n), at(n - 3, n % 5, 4, 0)) << p << ", " << n;
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 8; ++j)
        for (int64_t k = 0; k < kColumns; ++k)
          ASSERT_EQ(y.data[((p * 2 + i) * 8 + j) * kColumns + k], at(2 + i, j - 1, 1 + k, 7.5)) << p << ", " << i;
  }
}

TEST_P(Axes, WritesReachNoOtherIndex) {
  auto stored = tensors(2), some = stored, sum = stored, scattered = stored, scatteredSum = stored;
  auto expected = stored, expectedSome = stored, expectedSum = stored;
  for (int64_t p = 0; p < kCases; ++p)
    for (int64_t i = 1; i < kFirst && isIndex(p); ++i)
      for (int64_t j = 2; j < kRows; ++j)
        for (int64_t k = 0; k < kColumns; ++k) {
          const float number = float(k + 1);
          element(expected, p, i, j, k) = number;
          if (k % 2 == 0)
            element(expectedSome, p, i, j, k) = number;
          element(expectedSum, p, i, j, k) += number;
        }
  runAll(
      [](View Index, View Stored, View Some, View Sum, View Scattered, View ScatteredSum) {
        const Shape shape = {2, 4, kColumns};
        const Value column = iota(kColumns), tile = fill(shape, 1.0) + cast(f32, reshape(column, {1, 1, kColumns}));
        partOf(Stored, Index).store({1, 2}, tile);
        partOf(Some, Index).storeWhere(reshape(column, {1, 1, kColumns}) % 2 == 0, {1, 2}, tile);
        partOf(Sum, Index).atomicAdd({1, 2}, tile);
        const Value i = reshape(iota(2), {2, 1, 1}) + 1, j = reshape(iota(4), {1, 4, 1}) + 2,
                    k = reshape(column, {1, 1, kColumns});
        partOf(Scattered, Index).scatter(tile, i, j, k);
        partOf(ScatteredSum, Index).scatterAdd(tile, i, j, k);
      },
      stored, some, sum, scattered, scatteredSum);
  expectSameBits(stored, expected);
  expectSameBits(some, expectedSome);
  expectSameBits(sum, expectedSum);
  expectSameBits(scattered, expected);
  expectSameBits(scatteredSum, expectedSum);
}

/// The columns of such a view do not follow each other in memory.
TEST_P(Axes, TheLastDimensionsMayBeFixed) {
  auto x = Array<float>::random({6, 7, 5}, 3), y = Array<float>::random({6, 7, 5}, 4), expected = y;
  Array<float> matrix({8, 8}), vector({8});
  run(
      [](View X, View Y, View Matrix, View Vector) {
        Matrix.store(0, X.atAxis(2, 3).load(0, {8, 8}, -1));
        Vector.store(0, X.atAxis(1, 4, 2).load(0, {8}, -1));
        Y.atAxis(2, 1).atomicAdd({2, 0}, fill({2, 8}, 0.5));
        Y.atAxis(1, 6, 4).store(1, fill({2}, 9.0));
      },
      x, y, matrix, vector);
  for (int64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(vector(i), i < 6 ? x(i, 4, 2) : -1.f) << i;
    for (int64_t j = 0; j < 8; ++j)
      EXPECT_EQ(matrix(i, j), i < 6 && j < 7 ? x(i, j, 3) : -1.f) << i << ", " << j;
  }
  for (int64_t i : {2, 3})
    for (int64_t j = 0; j < 7; ++j)
      expected(i, j, 1) += 0.5f;
  for (int64_t i : {1, 2})
    expected(i, 6, 4) = 9;
  expectSameBits(y, expected);
}

/// The sum of one head's rows in each sequence, in a tensor [rows, heads, columns].
TEST_P(Axes, RowsOfAMatrixBetweenOthers) {
  constexpr int64_t rows = 23, heads = 3, columns = 12;
  const auto ends = std::to_array<std::pair<int64_t, int64_t>>({{0, 5}, {5, 23}, {20, 40}, {7, 2}, {-1, 9}});
  auto x = Array<float>::random({rows, heads, columns}, 5);
  Array<int64_t> bounds({int64_t(ends.size()), 2});
  for (size_t p = 0; p < ends.size(); ++p)
    std::tie(bounds(int64_t(p), 0), bounds(int64_t(p), 1)) = ends[p];
  Array<float> sums({int64_t(ends.size()), columns});
  runOn(
      Grid{int64_t(ends.size()), 1, 1},
      [](View Bounds, View X, View Sums) {
        const View sequence = X.atAxis(1, 2).rows(Bounds.gather(programId(0), 0), Bounds.gather(programId(0), 1));
        Var sum = fill({columns}, 0.0);
        for (Value i : range(0, sequence.dim(0), 8))
          sum = sum + reduceSum(sequence.load(i, {8, columns}), 0);
        Sums.at(programId(0)).store(0, sum);
      },
      bounds, x, sums);
  for (int64_t p = 0; p < int64_t(ends.size()); ++p)
    for (int64_t k = 0; k < columns; ++k) {
      double sum = 0;
      for (int64_t i = ends[size_t(p)].first; i >= 0 && i < std::min(ends[size_t(p)].second, rows); ++i)
        sum += x(i, 2, k);
      EXPECT_NEAR(sums(p, k), sum, 1e-4) << p << ", " << k;
    }
}

/// Pages before and after the dimension is fixed: pools [pages, heads, rows, columns] and [pages, rows, heads,
/// columns].
TEST_P(Axes, RowsInPages) {
  constexpr int64_t pages = 5, heads = 3, page = 3, columns = 20, rows = 16, head = 1;
  constexpr int32_t places[] = {4, -1, 0, 7, 2};
  Array<int32_t> table({std::size(places)});
  std::ranges::copy(places, table.data.begin());
  auto outer = Array<float>::random({pages, heads, page * columns}, 6);
  Array<float> inner({pages, page, heads * columns});
  auto added = inner, expected = inner;
  const auto placeOf = [&](int64_t row) {
    const int64_t place = row < page * int64_t(std::size(places)) ? places[row / page] : -1;
    return place < pages ? place : -1;
  };
  for (int64_t p = 0; p < pages; ++p)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < page * columns; ++i)
        inner(p, i / columns, h * columns + i % columns) = outer(p, h, i);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k < columns && placeOf(row) >= 0; ++k)
      expected(placeOf(row), row % page, head * columns + k) += 2;
  outer.shape = {pages, heads, page, columns};
  for (Array<float> *x : {&inner, &added})
    x->shape = {pages, page, heads, columns};
  Array<float> before({rows, columns}), after = before, one({columns}), none = before;
  run(
      [](View Table, View Outer, View Inner, View Added, View Before, View After, View One, View None) {
        const View of_head = paged(Outer.atAxis(1, head), Table, page);
        Before.store(0, of_head.load(0, {rows, columns}, -1));
        One.store(0, of_head.at(7).load(0, {columns}));
        After.store(0, paged(Inner, Table, page).atAxis(1, head).load(0, {rows, columns}, -1));
        paged(Added, Table, page).atAxis(1, head).atomicAdd(0, fill({rows, columns}, 2.0));
        None.store(0, paged(Outer.atAxis(1, heads), Table, page).load(0, {rows, columns}, -1));
      },
      table, outer, inner, added, before, after, one, none);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k < columns; ++k) {
      const int64_t place = placeOf(row);
      const float number = place < 0 ? -1 : outer.data[((place * heads + head) * page + row % page) * columns + k];
      ASSERT_EQ(before(row, k), number) << row << ", " << k;
      ASSERT_EQ(after(row, k), number) << row << ", " << k;
      ASSERT_EQ(none(row, k), -1) << row << ", " << k;
      if (row == 7) {
        ASSERT_EQ(one(k), number) << k;
      }
    }
  expectSameBits(added, expected);
}

/// Counters of arrivals in a column of a matrix.
TEST_P(Axes, CountersMayBeAColumn) {
  constexpr int64_t instances = 6, groups = 2;
  Array<int32_t> counters({groups, 3}), expected = counters;
  Array<int32_t> last({groups}, 0);
  runOn(
      Grid{instances, 1, 1},
      [](View Counters, View Last) {
        const Value group = programId(0) % groups;
        const Value isLast = Counters.atAxis(1, 1).arrive(group, instances / groups);
        when(isLast, [&] { Last.atomicAdd(group, fill({1}, 1)); });
      },
      counters, last);
  expectSameBits(counters, expected);
  for (int64_t group = 0; group < groups; ++group)
    EXPECT_EQ(last(group), 1);
}

INSTANTIATE_TEST_SUITE_P(Lanes, Axes, ::testing::ValuesIn(testedLanes()));

} // namespace
} // namespace tegula::language
