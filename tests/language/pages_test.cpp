// SPDX-License-Identifier: MIT
// Rows in pages of a table, and packed dimensions (paged, packed), against plain loops. All rows that a program must
// not read are NaN or infinite, and all that it must not write keep their bits.
#include "language/machine.h"

#include <algorithm>
#include <array>
#include <limits>

namespace tegula::language {
namespace {

constexpr int64_t kPages = 6, kHeld = 4, kColumns = 20, kTileRows = 8, kEntries = 4;
constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

/// Places of pages that a program may find in memory. No row has a page twice, so that stores do not race.
constexpr int32_t kTables[][kEntries] = {
    {3, 0, 5, 1},
    {-1, 2, 6, 4},
    {std::numeric_limits<int32_t>::min(), 1, std::numeric_limits<int32_t>::max(), 0},
    {5, 4, 3, 2}};
/// The rows of each case, counted through its pages.
constexpr int64_t kEnds[][2] = {{0, 100}, {0, 7}, {3, 11}, {5, 2}};
constexpr int64_t kCases = std::size(kTables);

/// The first element of row `row` of case `p` in a pool of each case, or -1 if the row is absent.
int64_t elementOf(int64_t p, int64_t row, int64_t page, int64_t begin, int64_t end, int64_t columns = kColumns) {
  const int64_t of_pages = begin + row;
  if (row < 0 || of_pages >= std::min(end, kEntries * page))
    return -1;
  const int64_t place = kTables[p][of_pages / page], of_page = of_pages % page;
  if (place < 0 || place >= kPages || of_page >= kHeld)
    return -1;
  return ((p * kPages + place) * kHeld + of_page) * columns;
}

class Pages : public Language {
protected:
  Pages() {
    for (int64_t p = 0; p < kCases; ++p) {
      std::copy(std::begin(kTables[p]), std::end(kTables[p]), &table(p, 0));
      std::copy(std::begin(kEnds[p]), std::end(kEnds[p]), &ends(p, 0));
    }
  }

  /// Returns a pool for each case with numbers in the rows of the case, and NaN and infinities elsewhere.
  template <class T> static Array<T> poisoned(int seed, int64_t page, int64_t columns = kColumns) {
    auto pool = Array<T>::random({kCases, kPages, kHeld, columns}, seed), result = pool;
    for (size_t i = 0; i < result.data.size(); ++i)
      result.data[i] = i % 2 == 0 ? kNaN : kInfinity;
    for (int64_t p = 0; p < kCases; ++p)
      for (int64_t row = 0; row < kEntries * page; ++row)
        if (int64_t at = elementOf(p, row, page, kEnds[p][0], kEnds[p][1], columns); at >= 0)
          std::copy_n(&pool.data[at], columns, &result.data[at]);
    return result;
  }

  template <class Kernel, class... T> void runAll(const Kernel &kernel, Array<T> &...arrays) {
    runOn(Grid{kCases, 1, 1}, kernel, table, ends, arrays...);
  }

  Array<int32_t> table = Array<int32_t>({kCases, kEntries});
  Array<int64_t> ends = Array<int64_t>({kCases, 2});
};

/// The rows of this program instance.
View rowsOf(View pool, View table, View ends, int page) {
  Value p = programId(0);
  return paged(pool.at(p), table.at(p), page).rows(ends.gather(p, 0), ends.gather(p, 1));
}

TEST_P(Pages, LoadsAreFilledInAbsentRows) {
  for (int page : {1, 2, 3, 4, 16})
    for (int64_t start : {-3, 0, 1, 40}) {
      SCOPED_TRACE(::testing::Message() << "pages of " << page << ", start " << start);
      auto pool = poisoned<float>(1, page);
      Array<float> y({kCases, kTileRows, kColumns});
      Array<int32_t> counts({kCases});
      runAll(
          [=](View Table, View Ends, View Pool, View Y, View Counts) {
            View rows = rowsOf(Pool, Table, Ends, page);
            Y.at(programId(0)).store(0, rows.load(constant(DType::index, start), {kTileRows, kColumns}, 7.5));
            Counts.store(programId(0), rows.dim(0));
          },
          pool, y, counts);
      for (int64_t p = 0; p < kCases; ++p) {
        const int64_t begin = kEnds[p][0], end = std::min<int64_t>(kEnds[p][1], kEntries * page);
        EXPECT_EQ(counts(p), begin > kEntries * page ? 0 : std::max<int64_t>(end - begin, 0)) << p;
        for (int64_t i = 0; i < kTileRows; ++i)
          for (int64_t j = 0; j < kColumns; ++j) {
            const int64_t at = elementOf(p, start + i, page, begin, end);
            ASSERT_EQ(y(p, i, j), at < 0 ? 7.5f : pool.data[at + j]) << p << ", " << i << ", " << j;
          }
      }
    }
}

template <class T> void expectSameBits(Array<T> &actual, Array<T> &expected) {
  EXPECT_EQ(0, std::memcmp(actual.data.data(), expected.data.data(), actual.data.size() * sizeof(T)));
}

/// Returns what `change(old element, row, column)` makes of the rows of each case that a tile at `start` covers.
template <class Change>
Array<float> changed(Array<float> old, int64_t page, int64_t start, int64_t columns, const Change &change) {
  for (int64_t p = 0; p < kCases; ++p)
    for (int64_t row = start; row < start + kTileRows; ++row)
      if (int64_t at = elementOf(p, row, page, kEnds[p][0], kEnds[p][1], columns); at >= 0)
        for (int64_t j = 0; j < columns; ++j)
          old.data[at + j] = change(old.data[at + j], row, j);
  return old;
}

TEST_P(Pages, StoresToAbsentRowsAreDropped) {
  for (int page : {2, 4})
    for (int64_t start : {-3, 0}) {
      auto y = Array<float>::random({kCases, kPages, kHeld, kColumns}, 2), z = y, sum = y;
      const auto at = [=](int64_t row, int64_t j) { return static_cast<float>(100 * (row - start) + j); };
      auto stored = changed(y, page, start, kColumns, [&](float, int64_t row, int64_t j) { return at(row, j); });
      auto evenOnes = changed(y, page, start, kColumns,
                              [&](float old, int64_t row, int64_t j) { return j % 2 ? old : at(row, j); });
      auto added =
          changed(y, page, start, kColumns, [&](float old, int64_t row, int64_t j) { return old + at(row, j); });
      runAll(
          [=](View Table, View Ends, View Y, View Z, View Sum) {
            Value column = asRow(iota(kColumns)), tile = asColumn(iota(kTileRows)) * 100.0 + column;
            const Position position(constant(DType::index, start));
            rowsOf(Y, Table, Ends, page).store(position, tile);
            rowsOf(Z, Table, Ends, page).storeWhere(column % 2 == 0, position, tile);
            rowsOf(Sum, Table, Ends, page).atomicAdd(position, tile);
          },
          y, z, sum);
      expectSameBits(y, stored);
      expectSameBits(z, evenOnes);
      expectSameBits(sum, added);
    }
}

TEST_P(Pages, SingleElementsCountThroughThePages) {
  constexpr int page = 2;
  auto pool = poisoned<float>(3, page);
  auto y = Array<float>::random({kCases, kPages, kHeld, kColumns}, 4), sum = y;
  Array<float> read({kCases, kTileRows, kColumns}), second({kCases, kColumns}), one({kCases});
  const auto number = [](float, int64_t row, int64_t j) { return static_cast<float>(row + j); };
  auto stored = changed(y, page, -2, kColumns, number);
  auto added =
      changed(y, page, -2, kColumns, [&](float old, int64_t row, int64_t j) { return old + number(0, row, j); });
  runAll(
      [](View Table, View Ends, View Pool, View Y, View Sum, View Read, View Second, View One) {
        Value row = asColumn(iota(kTileRows) - 2), column = asRow(iota(kColumns));
        Value tile = cast(f32, row + column);
        View rows = rowsOf(Pool, Table, Ends, page);
        Read.at(programId(0)).store(0, rows.gather(row, column));
        Second.at(programId(0)).store(0, rows.at(1).load(0, {kColumns}, -1));
        One.store(programId(0), rows.gather(2, 3));
        rowsOf(Y, Table, Ends, page).scatter(tile, row, column);
        rowsOf(Sum, Table, Ends, page).scatterAdd(tile, row, column);
      },
      pool, y, sum, read, second, one);
  expectSameBits(y, stored);
  expectSameBits(sum, added);
  for (int64_t p = 0; p < kCases; ++p) {
    const auto element = [&](int64_t row, int64_t j, float otherwise) {
      const int64_t at = elementOf(p, row, page, kEnds[p][0], kEnds[p][1]);
      return at < 0 ? otherwise : pool.data[at + j];
    };
    EXPECT_EQ(one(p), element(2, 3, 0)) << p;
    for (int64_t j = 0; j < kColumns; ++j) {
      EXPECT_EQ(second(p, j), element(1, j, -1)) << p << ", " << j;
      for (int64_t i = 0; i < kTileRows; ++i)
        ASSERT_EQ(read(p, i, j), element(i - 2, j, 0)) << p << ", " << i << ", " << j;
    }
  }
}

/// A pool of pages of single elements.
TEST_P(Pages, VectorsLieInPages) {
  constexpr int page = 3;
  auto pool = poisoned<float>(5, page, 1);
  auto y = Array<float>::random({kCases, kPages, kHeld, 1}, 6), sum = y;
  Array<float> read({kCases, kTileRows});
  auto stored = changed(y, page, -1, 1, [](float, int64_t row, int64_t) { return float(row + 1); });
  auto added = changed(y, page, -1, 1, [](float old, int64_t row, int64_t) { return old + float(row + 1); });
  for (Array<float> *array : {&pool, &y, &sum})
    array->shape.pop_back();
  runAll(
      [](View Table, View Ends, View Pool, View Y, View Sum, View Read) {
        Read.at(programId(0)).store(0, rowsOf(Pool, Table, Ends, page).load(-1, {kTileRows}, 3));
        rowsOf(Y, Table, Ends, page).store(-1, cast(f32, iota(kTileRows)));
        rowsOf(Sum, Table, Ends, page).atomicAdd(-1, cast(f32, iota(kTileRows)));
      },
      pool, y, sum, read);
  expectSameBits(y, stored);
  expectSameBits(sum, added);
  for (int64_t p = 0; p < kCases; ++p)
    for (int64_t i = 0; i < kTileRows; ++i) {
      const int64_t at = elementOf(p, i - 1, page, kEnds[p][0], kEnds[p][1], 1);
      EXPECT_EQ(read(p, i), at < 0 ? 3.f : pool.data[at]) << p << ", " << i;
    }
}

TEST_P(Pages, PackedDimensionsAreOne) {
  constexpr int64_t queries = 5, group = 3, rows = queries * group;
  auto q = Array<float>::random({queries, group, kColumns}, 7), sum = q, expected = q;
  Array<float> all({16, kColumns}), two({16, kColumns}), part({4, kColumns}), four({16, kColumns});
  run(
      [=](View Q, View Sum, View All, View Two, View Part, View Four) {
        All.store(0, packed(Q).load(0, {16, kColumns}, -1));
        Two.store(0, packed(Q, 2).load(0, {16, kColumns}, -1));
        Four.store(0, packed(Q, 4).load(0, {16, kColumns}, -1));
        Part.store(0, packed(Q).rows(4, 7).load(0, {4, kColumns}, -1));
        packed(Sum).rows(2, 40).atomicAdd(1, fill({16, kColumns}, 1.0));
      },
      q, sum, all, two, part, four);
  for (int64_t row = 3; row < rows; ++row)
    for (int64_t j = 0; j < kColumns; ++j)
      expected(row / group, row % group, j) += 1;
  expectSameBits(sum, expected);
  for (int64_t j = 0; j < kColumns; ++j)
    for (int64_t row = 0; row < 16; ++row) {
      EXPECT_EQ(all(row, j), row < rows ? q(row / group, row % group, j) : -1.f) << row << ", " << j;
      EXPECT_EQ(two(row, j), row < 2 * queries ? q(row / 2, row % 2, j) : -1.f) << row << ", " << j;
      EXPECT_EQ(four(row, j), row % 4 < group ? q(row / 4, row % 4, j) : -1.f) << row << ", " << j;
      if (row < 4) {
        EXPECT_EQ(part(row, j), row < 3 ? q((4 + row) / group, (4 + row) % group, j) : -1.f) << row << ", " << j;
      }
    }
}

/// Sums of the rows of sequences whose rows lie in pages.
TEST_P(Pages, SumsOfPages) {
  constexpr int64_t width = kColumns;
  auto pool = poisoned<float>(8, 2);
  Array<float> sums({kCases, width}, -1);
  runAll(
      [](View Table, View Ends, View Pool, View Sums) {
        View rows = rowsOf(Pool, Table, Ends, 2);
        Var sum = fill({width}, 0.0);
        for (Value i : range(0, rows.dim(0), 16))
          sum = sum + reduceSum(rows.load(i, {16, width}), 0);
        Sums.at(programId(0)).store(0, sum);
      },
      pool, sums);
  for (int64_t p = 0; p < kCases; ++p)
    for (int64_t j = 0; j < width; ++j) {
      double sum = 0;
      for (int64_t row = 0; row < 2 * kEntries; ++row)
        if (int64_t at = elementOf(p, row, 2, kEnds[p][0], kEnds[p][1]); at >= 0)
          sum += pool.data[at + j];
      EXPECT_NEAR(sums(p, j), sum, 1e-4) << p << ", " << j;
    }
}

TEST_P(Pages, LengthsLimitTheRowsOfPages) {
  constexpr int64_t rows = kEntries * kHeld;
  constexpr int32_t lengths[][kEntries] = {
      {4, 1, 0, -3}, {std::numeric_limits<int32_t>::max(), 3, std::numeric_limits<int32_t>::min(), 2}};
  auto pool = Array<float>::random({kPages, kHeld, kColumns}, 10);
  for (const auto &of_pages : lengths) {
    Array<int32_t> place({kEntries}), length({kEntries});
    std::ranges::copy(kTables[0], place.data.begin());
    std::ranges::copy(of_pages, length.data.begin());
    auto y = Array<float>::random({kPages, kHeld, kColumns}, 11), stored = y;
    Array<float> loaded({rows, kColumns}), gathered({rows, kColumns});
    run(
        [](View Table, View Lengths, View Pool, View Y, View Loaded, View Gathered) {
          View all = paged(Pool, Table, Lengths, kHeld);
          Loaded.store(0, all.load(0, {rows, kColumns}, 7.5));
          Gathered.store(0, all.gather(asColumn(iota(rows)), asRow(iota(kColumns))));
          paged(Y, Table, Lengths, kHeld).store(0, fill({rows, kColumns}, 1.5));
        },
        place, length, pool, y, loaded, gathered);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t j = 0; j < kColumns; ++j) {
        const bool exists = row % kHeld < of_pages[row / kHeld];
        const float element = pool(place(row / kHeld), row % kHeld, j);
        ASSERT_EQ(loaded(row, j), exists ? element : 7.5f) << row << ", " << j;
        ASSERT_EQ(gathered(row, j), exists ? element : 0.f) << row << ", " << j;
        if (exists)
          stored(place(row / kHeld), row % kHeld, j) = 1.5;
      }
    expectSameBits(y, stored);
  }
}

/// X^T X over the rows of pages: absent rows meet rows of the matrix in one sum.
void checkProducts(int lanes, int64_t columns, int64_t pages, int64_t held, int page, Array<int32_t> table,
                   int64_t length) {
  SCOPED_TRACE(::testing::Message() << columns << " columns in pages of " << page);
  auto x = Array<Bf16>::random({pages, held, columns}, 9, -1, 1), poisoned = x;
  std::fill(poisoned.data.begin(), poisoned.data.end(), Bf16(kNaN));
  std::vector<const Bf16 *> rows;
  for (int64_t i = 0; i < std::min(length, page * int64_t(table.data.size())); ++i)
    if (int64_t place = table(i / page); place >= 0 && place < pages && i % page < held) {
      std::copy_n(&x(place, i % page, 0), columns, &poisoned(place, i % page, 0));
      rows.push_back(&x(place, i % page, 0));
    }
  Array<int64_t> lengths({1}, length);
  Array<float> y({columns, columns});
  run(
      lanes, Grid{1, 1, 1},
      [=](View Table, View Lengths, View X, View Y) {
        View rows = paged(X, Table, page).rows(0, Lengths.gather(0));
        Var sum = fill({columns, columns}, 0.0);
        for (Value i : range(0, rows.dim(0), 32)) {
          Value x = rows.load(i, {32, columns});
          sum = dot(transpose(x), x, sum);
        }
        Y.store(0, sum);
      },
      table, lengths, poisoned, y);
  for (int64_t i = 0; i < columns; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (const Bf16 *row : rows)
        sum += double(row[i]) * double(row[j]);
      ASSERT_NEAR(y(i, j), sum, 1e-3) << i << ", " << j;
    }
}

TEST_P(Pages, SumsOfProductsOverRows) {
  Array<int32_t> table({6});
  std::ranges::copy(std::to_array<int32_t>({4, 1, -1, 0, 9, 3}), table.data.begin());
  for (int64_t columns : {64, 40, 33})
    for (int page : {4, 16, 64})
      checkProducts(GetParam(), columns, 5, page, page, table, 6 * page - 5);
  checkProducts(GetParam(), 64, 5, 12, 16, table, 1000);
}

INSTANTIATE_TEST_SUITE_P(Lanes, Pages, ::testing::ValuesIn(testedLanes()));

} // namespace
} // namespace tegula::language
