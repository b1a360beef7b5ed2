// SPDX-License-Identifier: MIT
// Programs on segments of a tensor, whose ends are in memory, on sm_90a: TMA loads, stores and adds their rows. All
// rows of no segment are NaN or infinite where the programs read, and must keep their bits where they write.
#include "language/hopper.h"

#include <gmock/gmock.h>

namespace tegula::language {
namespace {

using ::testing::AllOf, ::testing::HasSubstr;

constexpr int64_t kRows = 250, kDepth = 128, kColumns = 128;
constexpr int64_t kEnds[][2] = {{3, 70}, {80, 80}, {90, 218}, {-1, 40}, {230, 1000}, {400, 500}};
constexpr int64_t kSegments = std::size(kEnds);

struct Rows {
  int64_t begin, end;
  explicit Rows(int64_t segment) : begin(kEnds[segment][0]), end(std::min(kEnds[segment][1], kRows)) {
    if (begin < 0 || end < begin)
      begin = end = 0;
  }
};

/// Returns the segment of a row, or -1.
int64_t segmentOf(int64_t row) {
  for (int64_t s = 0; s < kSegments; ++s)
    if (Rows(s).begin <= row && row < Rows(s).end)
      return s;
  return -1;
}

bool isInSegment(int64_t row) { return segmentOf(row) >= 0; }

/// Returns small whole numbers in the rows of segments, whose products have no rounding errors.
Matrix poisoned(int64_t columns, int64_t stride) {
  Matrix x({kRows, columns});
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      x(i, j) = isInSegment(i) ? float((i * stride + j) % 5 - 2) : j % 2 ? INFINITY : NAN;
  return x;
}

Array<int64_t> ends() {
  Array<int64_t> ends({kSegments, 2});
  for (int64_t s = 0; s < kSegments; ++s)
    for (int64_t i : {0, 1})
      ends(s, i) = kEnds[s][i];
  return ends;
}

View rowsOf(View tensor, View ends) { return tensor.rows(ends.gather(programId(0), 0), ends.gather(programId(0), 1)); }

/// Returns row `i` and column `j` of A B.
double product(Matrix &a, Matrix &b, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t k = 0; k < kDepth; ++k)
    sum += double(a(i, k)) * double(b(k, j));
  return sum;
}

Matrix weights() {
  Matrix b({kDepth, kColumns});
  for (int64_t i = 0; i < kDepth * kColumns; ++i)
    b(i) = float(i * 7 % 3 - 1);
  return b;
}

/// The gradient of a weight of each segment, X^T Y. The sum runs over rows, so a row of a neighbour would reach it. Y
/// is one of two matrices.
TEST(Segments, TmaLoadsRows) {
  auto kernel = [](View Ends, View X, View Y, View W) {
    View x = rowsOf(X, Ends), y = rowsOf(Y.at(1), Ends);
    Var w = fill({kDepth, kColumns}, 0.0);
    for (Value i : range(0, x.dim(0), 64))
      w = dot(transpose(x.load({i, 0}, {64, kDepth})), y.load({i, 0}, {64, kColumns}), w);
    W.at(programId(0)).store(0, w);
  };
  for (int64_t columns : {kColumns, kColumns - 2}) { // Rows of 126 elements forbid TMA.
    Expected<Program> program = record("weights", kernel, TensorArg{"ends", i64, 2}, TensorArg{"x", bf16, 2},
                                       TensorArg{"y", bf16, 3}, TensorArg{"w", f32, 3});
    ASSERT_TRUE(program.ok()) << program.status().message();
    EXPECT_THAT(ptxOf(*program), AllOf(HasSubstr("cp.async.bulk.tensor.4d.shared::cluster"),
                                       HasSubstr("cp.async.bulk.tensor.5d.shared::cluster")));
    Array<int64_t> bounds = ends();
    Matrix x = poisoned(kDepth, 3), y = poisoned(columns, 7);
    y.shape = {2, kRows, columns};
    y.data.insert(y.data.begin(), y.data.size(), Bf16(NAN));
    Array<float> w({kSegments, kDepth, kColumns}, 7.0f);
    OnDevice<int64_t> on_ends(bounds);
    OnDevice<Bf16> on_x(x), on_y(y);
    OnDevice<float> on_w(w);
    launch(*program, {.x = kSegments}, {on_ends.ref(), on_x.ref(), on_y.ref(), on_w.ref()});
    ASSERT_TRUE(on_w.readBack()) << "memory outside an array was written";
    for (int64_t s = 0; s < kSegments; ++s)
      for (int64_t i = 0; i < kDepth; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          double sum = 0;
          for (int64_t row = Rows(s).begin; row < Rows(s).end; ++row)
            sum += double(x(row, i)) * double(y(1, row, j));
          ASSERT_EQ(w(s, i, j), sum) << s << ": " << i << ", " << j;
        }
  }
}

/// X^T X' for each segment of a matrix, where X' has the first columns of X. The matrix is one of a tensor of four
/// dimensions; that of segment 1 does not exist.
TEST(Segments, TmaLoadsRowsOfMatricesInTwoDimensions) {
  constexpr int64_t owners = 2, heads = 2, few = 64;
  auto kernel = [](View Ends, View Owners, View X, View W) {
    View x = rowsOf(X.at(Owners.gather(programId(0)), 1), Ends);
    Var w = fill({kDepth, few}, 0.0);
    for (Value i : range(0, x.dim(0), 64)) {
      Value tile = x.load({i, 0}, {64, kDepth});
      w = dot(transpose(tile), columns(tile, 0, few), w);
    }
    W.at(programId(0)).store(0, w);
  };
  Expected<Program> program = record("weights", kernel, TensorArg{"ends", i64, 2}, TensorArg{"owners", i32, 1},
                                     TensorArg{"x", bf16, 4}, TensorArg{"w", f32, 3});
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_THAT(ptxOf(*program), HasSubstr("cp.async.bulk.tensor.5d.shared::cluster"));
  Array<int64_t> bounds = ends();
  Array<int32_t> numbers({kSegments});
  const int32_t owner_of[kSegments] = {1, 1, 0, 0, 1, 0};
  std::copy_n(owner_of, kSegments, numbers.data.begin());
  numbers(0) = owners; // Outside the tensor.
  struct Strides {
    int64_t owner, head, row;
  };
  for (Strides s : {Strides{heads * kRows * kDepth, kRows * kDepth, kDepth},        // Heads outside the rows,
                    Strides{heads * kRows * kDepth, kDepth, heads * kDepth},        // between them,
                    Strides{heads * kRows * kDepth + 8, kRows * kDepth, kDepth}}) { // and owners that forbid TMA.
    SCOPED_TRACE(::testing::Message() << s.owner << ", " << s.head << ", " << s.row);
    Matrix x({owners * s.owner}), rows = poisoned(kDepth, 3);
    std::fill(x.data.begin(), x.data.end(), Bf16(NAN));
    const auto at = [&](int64_t owner, int64_t row, int64_t column) -> Bf16 & {
      return x(owner * s.owner + s.head + row * s.row + column);
    };
    for (int64_t owner = 0; owner < owners; ++owner)
      for (int64_t row = 0; row < kRows; ++row)
        for (int64_t j = 0; j < kDepth; ++j)
          at(owner, row, j) = isInSegment(row) ? Bf16(float(rows(row, j)) + float(owner)) : rows(row, j);
    Array<float> w({kSegments, kDepth, few}, 7.0f);
    OnDevice<int64_t> on_ends(bounds);
    OnDevice<int32_t> on_numbers(numbers);
    OnDevice<Bf16> on_x(x);
    OnDevice<float> on_w(w);
    TensorRef tensor{.data = on_x.ref().data,
                     .dtype = bf16,
                     .rank = 4,
                     .shape = {owners, heads, kRows, kDepth},
                     .strides = {s.owner, s.head, s.row, 1}};
    launch(*program, {.x = kSegments}, {on_ends.ref(), on_numbers.ref(), tensor, on_w.ref()});
    ASSERT_TRUE(on_w.readBack()) << "memory outside an array was written";
    for (int64_t segment = 0; segment < kSegments; ++segment)
      for (int64_t i = 0; i < kDepth; ++i)
        for (int64_t j = 0; j < few; ++j) {
          const int64_t owner = numbers(segment);
          double sum = 0;
          for (int64_t row = Rows(segment).begin; owner < owners && row < Rows(segment).end; ++row)
            sum += double(at(owner, row, i)) * double(at(owner, row, j));
          ASSERT_EQ(w(segment, i, j), sum) << segment << ": " << i << ", " << j;
        }
  }
}

/// Expects that `c` has `expected(row, column)` in the rows of segments, and `kept` elsewhere.
template <class T, class Function> void expectRows(Array<T> &c, float kept, const Function &expected) {
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < kColumns; ++j)
      ASSERT_EQ(c(i, j), isInSegment(i) ? expected(i, j) : kept) << i << ", " << j;
}

/// A product for each segment. Each tile also adds a vector: its first row of another tensor.
TEST(Segments, TmaStoresRows) {
  auto kernel = [](View Ends, View A, View B, View D, View C) {
    View a = rowsOf(A, Ends), c = rowsOf(C, Ends), d = rowsOf(D, Ends);
    Value b = B.load({0, 0}, {kDepth, kColumns});
    for (Value i : range(0, a.dim(0), 128))
      c.store({i, 0}, dot(a.load({i, 0}, {128, kDepth}), b) + asRow(d.at(i).load(0, {kColumns})));
  };
  Expected<Program> program = record("products", kernel, TensorArg{"ends", i64, 2}, TensorArg{"a", bf16, 2},
                                     TensorArg{"b", bf16, 2}, TensorArg{"d", bf16, 2}, TensorArg{"c", f32, 2});
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_THAT(ptxOf(*program), HasSubstr("cp.async.bulk.tensor.4d.global.shared::cta"));
  Array<int64_t> bounds = ends();
  Matrix a = poisoned(kDepth, 3), b = weights(), d = poisoned(kColumns, 11);
  Array<float> c({kRows, kColumns}, 7.0f);
  OnDevice<int64_t> on_ends(bounds);
  OnDevice<Bf16> on_a(a), on_b(b), on_d(d);
  OnDevice<float> on_c(c);
  launch(*program, {.x = kSegments}, {on_ends.ref(), on_a.ref(), on_b.ref(), on_d.ref(), on_c.ref()});
  ASSERT_TRUE(on_c.readBack()) << "memory outside an array was written";
  expectRows(c, 7, [&](int64_t i, int64_t j) {
    const int64_t begin = Rows(segmentOf(i)).begin;
    return product(a, b, i, j) + double(d(begin + (i - begin) / 128 * 128, j));
  });
}

/// Two program instances add their products to the rows of each segment, in turns or not.
void checkAdditions(bool inTurns) {
  SCOPED_TRACE(inTurns);
  const Schedule schedule{.num_warps = 8, .num_stages = 2, .roles = Roles::load, .add_by_tma = true};
  auto kernel = [=](View Ends, View A, View B, View C, View Turns) {
    View a = rowsOf(A, Ends), c = rowsOf(C, Ends);
    Value b = B.load({0, 0}, {kDepth, kColumns}), part = programId(1);
    for (Value i : range(0, a.dim(0), 64)) {
      Value product = dot(a.load({i, 0}, {64, kDepth}), b);
      if (inTurns)
        c.orderedAdd({i, 0}, product, {Turns, Ends.gather(programId(0), 0) + i, part, part + 1});
      else
        c.atomicAdd({i, 0}, product);
    }
  };
  Expected<Program> program = record("additions", kernel, TensorArg{"ends", i64, 2}, TensorArg{"a", bf16, 2},
                                     TensorArg{"b", bf16, 2}, TensorArg{"c", f32, 2}, TensorArg{"turns", i32, 1});
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_THAT(ptxOf(*program, schedule), HasSubstr("cp.reduce.async.bulk.tensor.4d"));
  Array<int64_t> bounds = ends();
  Matrix a = poisoned(kDepth, 3), b = weights();
  Array<float> c({kRows, kColumns}, 7.0f);
  Array<int32_t> turns({kRows});
  OnDevice<int64_t> on_ends(bounds);
  OnDevice<Bf16> on_a(a), on_b(b);
  OnDevice<float> on_c(c);
  OnDevice<int32_t> on_turns(turns);
  launch(*program, {.x = kSegments, .y = 2}, {on_ends.ref(), on_a.ref(), on_b.ref(), on_c.ref(), on_turns.ref()},
         schedule);
  ASSERT_TRUE(on_c.readBack() && on_turns.readBack()) << "memory outside an array was written";
  expectRows(c, 7, [&](int64_t i, int64_t j) { return 7 + 2 * product(a, b, i, j); });
}

TEST(Segments, TmaAddsToRows) {
  checkAdditions(false);
  checkAdditions(true);
}

} // namespace
} // namespace tegula::language
