// SPDX-License-Identifier: MIT
// Dots of few rows or few columns, such as products of a matrix and a few vectors. The cpu target runs vectors along
// their depth, and reads the matrix from the tensor. All numbers are small integers, so every result is exact.
#include "language/machine.h"

namespace tegula::language {
namespace {

/// The sizes of a dot: those of a few rows, and of a tile of the matrix.
struct FewRowsCase {
  int rows, columns, depth;
};

class FewRows : public Language {
protected:
  template <class T> static Array<T> integers(std::vector<int64_t> shape, int seed) {
    Array<T> result = Array<T>::random(std::move(shape), seed, -3, 3);
    for (T &x : result.data)
      x = T(std::trunc(float(x)));
    return result;
  }

  /// Returns x y^T + start.
  template <class X, class Y> static Array<float> product(Array<X> &x, Array<Y> &y, float start) {
    Array<float> result({x.shape[0], y.shape[0]}, start);
    for (int64_t i = 0; i < x.shape[0]; ++i)
      for (int64_t j = 0; j < y.shape[0]; ++j)
        for (int64_t k = 0; k < x.shape[1]; ++k)
          result(i, j) += float(x(i, k)) * float(y(j, k));
    return result;
  }
};

const FewRowsCase kCases[] = {{1, 64, 64}, {1, 5, 16},  {2, 32, 40}, {3, 48, 128}, {4, 64, 128}, {4, 7, 33},
                              {5, 16, 16}, {7, 19, 48}, {8, 64, 32}, {13, 40, 80}, {16, 16, 128}};

/// Calls check(sizes, T()) for all cases, with f32 and with bf16.
template <class Check> void forEachCase(const Check &check) {
  for (const FewRowsCase &c : kCases) {
    SCOPED_TRACE(::testing::Message() << c.rows << " x " << c.columns << " x " << c.depth);
    check(c, float());
    check(c, Bf16());
  }
}

/// Tests x y^T for a matrix y of three tiles, the last of which is not whole.
template <class T>
void checkRowsOfMatrix(int lanes, const FewRowsCase &c, Array<T> x, Array<T> y, Array<float> expected) {
  Array<float> result({c.rows, y.shape[0]}, -1.0f), turned({y.shape[0], c.rows}, -1.0f);
  auto kernel = [&](View X, View Y, View R, View Turned) {
    Value vectors = X.load(0, {c.rows, c.depth});
    for (Value j : range(0, Y.dim(0), c.columns)) {
      Value matrix = Y.load({j, 0}, {c.columns, c.depth});
      R.store({0, j}, dot(vectors, transpose(matrix)) + 1.0);
      Turned.store({j, 0}, dot(matrix, transpose(vectors)) + 1.0);
    }
  };
  run(lanes, Grid{1, 1, 1}, kernel, x, y, result, turned);
  for (int64_t i = 0; i < c.rows; ++i)
    for (int64_t j = 0; j < y.shape[0]; ++j) {
      ASSERT_EQ(result(i, j), expected(i, j)) << i << ", " << j;
      ASSERT_EQ(turned(j, i), expected(i, j)) << j << ", " << i;
    }
}

TEST_P(FewRows, TimesTheRowsOfAMatrix) {
  forEachCase([&]<class T>(const FewRowsCase &c, T) {
    Array<T> x = integers<T>({c.rows, c.depth}, 1), y = integers<T>({2 * c.columns + 1, c.depth}, 2);
    checkRowsOfMatrix(GetParam(), c, x, y, product(x, y, 1));
  });
}

// The accumulator is carried by the loop.
TEST_P(FewRows, AddUpOverTheDepth) {
  forEachCase([&]<class T>(const FewRowsCase &c, T) {
    Array<T> x = integers<T>({c.rows, 3 * c.depth}, 3), y = integers<T>({c.columns, 3 * c.depth}, 4);
    Array<float> result({c.rows, c.columns}, -1.0f), expected = product(x, y, 2);
    auto kernel = [&](View X, View Y, View R) {
      Var sum = fill({c.rows, c.columns}, 2.0);
      for (Value k : range(0, X.dim(1), c.depth))
        sum = dot(X.load({0, k}, {c.rows, c.depth}), transpose(Y.load({0, k}, {c.columns, c.depth})), sum);
      R.store(0, sum);
    };
    run(kernel, x, y, result);
    ASSERT_EQ(result.data, expected.data);
  });
}

// A row of the matrix is used by all rows of the other factor at once.
TEST_P(FewRows, TimesTheColumnsOfAMatrix) {
  forEachCase([&]<class T>(const FewRowsCase &c, T) {
    Array<T> x = integers<T>({c.rows, 2 * c.columns + 1}, 5), y = integers<T>({2 * c.columns + 1, c.depth}, 6);
    Array<T> turned({y.shape[1], y.shape[0]});
    for (int64_t i = 0; i < y.shape[0]; ++i)
      for (int64_t j = 0; j < y.shape[1]; ++j)
        turned(j, i) = y(i, j);
    Array<float> result({c.rows, c.depth}, -1.0f), expected = product(x, turned, 0);
    auto kernel = [&](View X, View Y, View R) {
      Var sum = fill({c.rows, c.depth}, 0.0);
      for (Value k : range(0, Y.dim(0), c.columns))
        sum = dot(X.load({0, k}, {c.rows, c.columns}), Y.load({k, 0}, {c.columns, c.depth}), sum);
      R.store(0, sum);
    };
    run(kernel, x, y, result);
    ASSERT_EQ(result.data, expected.data);
  });
}

INSTANTIATE_TEST_SUITE_P(Lanes, FewRows, ::testing::ValuesIn(testedLanes()));

} // namespace
} // namespace tegula::language
