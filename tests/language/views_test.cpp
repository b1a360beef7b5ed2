// SPDX-License-Identifier: MIT
// Rows of a tensor whose ends only the device knows (View::rows), against plain loops. Everything outside them is NaN
// or infinite in what is read, and must keep its bits in what is written.
#include "language/machine.h"

#include <algorithm>
#include <limits>

namespace tegula::language {
namespace {

constexpr int64_t kRows = 9, kColumns = 20, kTileRows = 8;
constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min(), kLargest = std::numeric_limits<int64_t>::max();
constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

/// Pairs of a begin and an end that a program may find in memory.
constexpr int64_t kEnds[][2] = {{2, 7},
                                {0, 9},
                                {0, 100},
                                {4, 5},
                                {8, 9},
                                {5, 5},
                                {7, 2},
                                {9, 9},
                                {9, 12},
                                {-1, 4},
                                {100, 4},
                                {100, 200},
                                {3, -7},
                                {-5, -2},
                                {kSmallest, kLargest},
                                {6, kLargest},
                                {6, kSmallest},
                                {kLargest, kLargest},
                                {int64_t(1) << 32, 9}};
constexpr int64_t kCases = std::size(kEnds);

/// The rows of one case by plain arithmetic.
struct Segment {
  int64_t first = 0, end = 0;
  explicit Segment(int64_t number, int64_t rows = kRows) {
    const auto [begin, last] = kEnds[number];
    if (begin < 0 || begin >= rows || last <= begin)
      return;
    first = begin;
    end = std::min(last, rows);
  }
  int64_t count() const { return end - first; }
  bool contains(int64_t row) const { return first <= row && row < end; }
};

class Views : public Language {
protected:
  Views() {
    for (int64_t p = 0; p < kCases; ++p)
      for (int64_t i : {0, 1})
        ends(p, i) = kEnds[p][i];
  }

  /// Returns a matrix for each case that has numbers in the rows of the case, and NaN and infinities elsewhere.
  template <class T> static Array<T> poisoned(int seed) {
    auto a = Array<T>::random({kCases, kRows, kColumns}, seed);
    for (int64_t p = 0; p < kCases; ++p)
      for (int64_t i = 0; i < kRows; ++i)
        for (int64_t j = 0; j < kColumns && !Segment(p).contains(i); ++j)
          a(p, i, j) = j % 2 == 0 ? kNaN : kInfinity;
    return a;
  }

  template <class Kernel, class... T> void runAll(const Kernel &kernel, Array<T> &...arrays) {
    runOn(Grid{kCases, 1, 1}, kernel, ends, arrays...);
  }

  Array<int64_t> ends = Array<int64_t>({kCases, 2});
};

/// The rows of this program instance.
View rowsOf(View tensor, View ends) {
  Value p = programId(0);
  return tensor.at(p).rows(ends.gather(p, 0), ends.gather(p, 1));
}

TEST_P(Views, LoadsAreFilledOutsideTheRows) {
  for (int64_t start : {-3, 0, 1, 4, 40}) {
    auto a = poisoned<float>(1);
    Array<float> y({kCases, kTileRows, kColumns});
    Array<int32_t> counts({kCases});
    runAll(
        [=](View Ends, View A, View Y, View Counts) {
          View rows = rowsOf(A, Ends);
          Y.at(programId(0)).store(0, rows.load(constant(DType::index, start), {kTileRows, kColumns}, 7.5));
          Counts.store(programId(0), rows.dim(0));
        },
        a, y, counts);
    for (int64_t p = 0; p < kCases; ++p) {
      const Segment segment(p);
      EXPECT_EQ(counts(p), segment.count()) << p;
      for (int64_t i = 0; i < kTileRows; ++i)
        for (int64_t j = 0; j < kColumns; ++j) {
          const int64_t row = start + i;
          const bool inside = row >= 0 && row < segment.count();
          EXPECT_EQ(y(p, i, j), inside ? a(p, segment.first + row, j) : 7.5f) << p << ", " << row << ", " << j;
        }
    }
  }
}

template <class T> void expectSameBits(Array<T> &actual, Array<T> &expected) {
  EXPECT_EQ(0, std::memcmp(actual.data.data(), expected.data.data(), actual.data.size() * sizeof(T)));
}

/// Returns what `change(old element, row of the segment, column)` makes of the rows of each case that a tile at `start`
/// covers.
template <class T, class Change> Array<T> changed(Array<T> old, int64_t start, int64_t tileRows, const Change &change) {
  for (int64_t p = 0; p < kCases; ++p) {
    const Segment segment(p);
    for (int64_t row = std::max<int64_t>(start, 0); row < std::min(segment.count(), start + tileRows); ++row)
      for (int64_t j = 0; j < kColumns; ++j)
        old(p, segment.first + row, j) = change(old(p, segment.first + row, j), row, j);
  }
  return old;
}

TEST_P(Views, StoresOutsideTheRowsAreDropped) {
  for (int64_t start : {-3, 0, 4, 40}) {
    auto y = Array<float>::random({kCases, kRows, kColumns}, 2), z = y, sum = y;
    const auto at = [=](int64_t row, int64_t j) { return static_cast<float>(100 * (row - start) + j); };
    auto stored = changed(y, start, kTileRows, [&](float, int64_t row, int64_t j) { return at(row, j); });
    auto evenOnes =
        changed(y, start, kTileRows, [&](float old, int64_t row, int64_t j) { return j % 2 ? old : at(row, j); });
    auto added = changed(y, start, kTileRows, [&](float old, int64_t row, int64_t j) { return old + at(row, j); });
    runAll(
        [=](View Ends, View Y, View Z, View Sum) {
          Value column = asRow(iota(kColumns)), tile = asColumn(iota(kTileRows)) * 100.0 + column;
          const Position position(constant(DType::index, start));
          rowsOf(Y, Ends).store(position, tile);
          rowsOf(Z, Ends).storeWhere(column % 2 == 0, position, tile);
          rowsOf(Sum, Ends).atomicAdd(position, tile);
        },
        y, z, sum);
    expectSameBits(y, stored);
    expectSameBits(z, evenOnes);
    expectSameBits(sum, added);
  }
}

TEST_P(Views, SingleElementsCountFromTheBegin) {
  auto a = poisoned<float>(3);
  auto y = Array<float>::random({kCases, kRows, kColumns}, 4), sum = y;
  Array<float> read({kCases, kTileRows, kColumns}), first({kCases});
  const auto one = [](float old, int64_t row, int64_t j) { return old + static_cast<float>(row + j); };
  auto stored = changed(y, -2, kTileRows, [](float, int64_t row, int64_t j) { return static_cast<float>(row + j); });
  auto added = changed(y, -2, kTileRows, one);
  runAll(
      [](View Ends, View A, View Y, View Sum, View Read, View First) {
        Value row = asColumn(iota(kTileRows) - 2), column = asRow(iota(kColumns));
        Value tile = cast(f32, row + column);
        Read.at(programId(0)).store(0, rowsOf(A, Ends).gather(row, column));
        rowsOf(Y, Ends).scatter(tile, row, column);
        rowsOf(Sum, Ends).scatterAdd(tile, row, column);
        First.store(programId(0), rowsOf(A, Ends).gather(0, 1));
      },
      a, y, sum, read, first);
  expectSameBits(y, stored);
  expectSameBits(sum, added);
  for (int64_t p = 0; p < kCases; ++p) {
    const Segment segment(p);
    EXPECT_EQ(first(p), segment.count() > 0 ? a(p, segment.first, 1) : 0.f) << p;
    for (int64_t i = 0; i < kTileRows; ++i)
      for (int64_t j = 0; j < kColumns; ++j) {
        const bool inside = i >= 2 && i - 2 < segment.count();
        EXPECT_EQ(read(p, i, j), inside ? a(p, segment.first + i - 2, j) : 0.f) << p << ", " << i << ", " << j;
      }
  }
}

TEST_P(Views, RowsOfRowsAndOneOfThem) {
  auto a = poisoned<Bf16>(5);
  Array<Bf16> inner({kCases, kTileRows, kColumns}), second({kCases, kColumns});
  runAll(
      [](View Ends, View A, View Inner, View Second) {
        View rows = rowsOf(A, Ends);
        Inner.at(programId(0)).store(0, rows.rows(1, 3).load(0, {kTileRows, kColumns}));
        Second.at(programId(0)).store(0, rows.at(1).load(0, {kColumns}, -1));
      },
      a, inner, second);
  for (int64_t p = 0; p < kCases; ++p) {
    const Segment segment(p);
    for (int64_t j = 0; j < kColumns; ++j) {
      EXPECT_EQ(second(p, j), segment.count() > 1 ? float(a(p, segment.first + 1, j)) : -1.f) << p;
      for (int64_t i = 0; i < kTileRows; ++i) {
        const bool inside = i < 2 && 1 + i < segment.count();
        EXPECT_EQ(inner(p, i, j), inside ? float(a(p, segment.first + 1 + i, j)) : 0.f) << p << ", " << i;
      }
    }
  }
}

TEST_P(Views, RowsOfAVector) {
  constexpr int64_t size = 9;
  auto a = Array<float>::random({size}, 6);
  auto y = Array<float>::random({kCases, size}, 7), expected = y;
  runAll(
      [](View Ends, View A, View Y) {
        Value begin = Ends.gather(programId(0), 0), end = Ends.gather(programId(0), 1);
        View part = Y.at(programId(0)).rows(begin, end);
        part.store(0, A.rows(begin, end).load(0, {16}, 3) * 2.0);
      },
      a, y);
  for (int64_t p = 0; p < kCases; ++p)
    for (int64_t i = Segment(p).first; i < Segment(p).end; ++i)
      expected(p, i) = a(i) * 2.f;
  expectSameBits(y, expected);
}

/// Sums of the rows of each segment: sequences of any lengths stand one after another.
TEST_P(Views, SumsOfSegments) {
  constexpr int64_t width = 33;
  const int32_t starts[] = {0, 5, 5, 6, 40, 73};
  constexpr int64_t segments = std::size(starts) - 1;
  Array<int32_t> first({segments + 1});
  std::copy(std::begin(starts), std::end(starts), first.data.begin());
  auto x = Array<float>::random({73, width}, 8);
  Array<float> sums({segments, width}, -1);
  runOn(
      Grid{segments, 1, 1},
      [](View First, View X, View Sums) {
        Value segment = programId(0);
        View rows = X.rows(First.gather(segment), First.gather(segment + 1));
        Var sum = fill({width}, 0.0);
        for (Value i : range(0, rows.dim(0), 16))
          sum = sum + reduceSum(rows.load(i, {16, width}), 0);
        Sums.at(segment).store(0, sum);
      },
      first, x, sums);
  for (int64_t s = 0; s < segments; ++s)
    for (int64_t j = 0; j < width; ++j) {
      double sum = 0;
      for (int64_t i = starts[s]; i < starts[s + 1]; ++i)
        sum += x(i, j);
      EXPECT_NEAR(sums(s, j), sum, 1e-4) << s << ", " << j;
    }
}

/// A product of its own for each segment, as in a mixture of experts. The tiles of a segment reach into the next one,
/// whose rows they neither read nor write.
void checkProductsOfSegments(int lanes, int64_t depth, int64_t columns) {
  const int32_t starts[] = {0, 7, 7, 50};
  constexpr int64_t segments = std::size(starts) - 1, rows = 50;
  Array<int32_t> first({segments + 1});
  std::copy(std::begin(starts), std::end(starts), first.data.begin());
  auto x = Array<Bf16>::random({rows, depth}, 9), w = Array<Bf16>::random({segments, depth, columns}, 10);
  Array<float> y({rows, columns}, -1);
  run(
      lanes, Grid{segments, 1, 1},
      [=](View First, View X, View W, View Y) {
        Value segment = programId(0), begin = First.gather(segment), end = First.gather(segment + 1);
        View in = X.rows(begin, end), out = Y.rows(begin, end);
        Value w = W.at(segment).load(0, {depth, columns});
        for (Value i : range(0, in.dim(0), 16))
          out.store(i, dot(in.load(i, {16, depth}), w));
      },
      first, x, w, y);
  for (int64_t s = 0; s < segments; ++s)
    for (int64_t i = starts[s]; i < starts[s + 1]; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < depth; ++k)
          sum += double(x(i, k)) * double(w(s, k, j));
        EXPECT_NEAR(y(i, j), sum, 1e-4) << i << ", " << j;
      }
}

TEST_P(Views, ProductsOfSegments) {
  checkProductsOfSegments(GetParam(), 24, 40);
  checkProductsOfSegments(GetParam(), 64, 64);
}

/// X^T Y over the rows of a segment: in each tile, rows outside meet rows of the segment in one sum.
TEST_P(Views, SumsOfProductsOverRows) {
  constexpr int64_t columns = 64, size = 50;
  Array<int64_t> bounds({2});
  bounds(0) = 3;
  bounds(1) = 41;
  auto x = Array<Bf16>::random({size, columns}, 11), y = Array<Bf16>::random({size, columns}, 12);
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = 0; j < columns && (i < bounds(0) || i >= bounds(1)); ++j)
      x(i, j) = y(i, j) = j % 2 == 0 ? kNaN : kInfinity;
  Array<float> sums({columns, columns});
  run(
      [](View Bounds, View X, View Y, View Sums) {
        View x = X.rows(Bounds.gather(0), Bounds.gather(1)), y = Y.rows(Bounds.gather(0), Bounds.gather(1));
        Var sum = fill({columns, columns}, 0.0);
        for (Value i : range(0, x.dim(0), 16))
          sum = dot(transpose(x.load(i, {16, columns})), y.load(i, {16, columns}), sum);
        Sums.store(0, sum);
      },
      bounds, x, y, sums);
  for (int64_t i = 0; i < columns; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (int64_t row = bounds(0); row < bounds(1); ++row)
        sum += double(x(row, i)) * double(y(row, j));
      EXPECT_NEAR(sums(i, j), sum, 1e-4) << i << ", " << j;
    }
}

INSTANTIATE_TEST_SUITE_P(Lanes, Views, ::testing::ValuesIn(testedLanes()));

} // namespace
} // namespace tegula::language
