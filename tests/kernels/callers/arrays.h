// SPDX-License-Identifier: MIT
// Tensors as other libraries have them, and attention by the definition.
#pragma once

#include "oracle/inputs.h"
#include "support/mirrored_memory.h"
#include "tegula/plan.h"
#include "workload/elements.h"

#include <cmath>
#include <limits>
#include <vector>

namespace tegula::testing {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// An array in C order in the memory of the test device.
class Array {
public:
  /// Makes an array of normally distributed numbers. Equal arguments make equal numbers.
  Array(DType dtype, std::vector<int64_t> shape, uint64_t seed);
  /// Makes an array whose elements are NaN, or -1 if they are integers.
  Array(DType dtype, std::vector<int64_t> shape);
  Array(std::vector<int64_t> shape, const std::vector<int32_t> &numbers);

  TensorRef ref() const { return as(shape_); }
  /// Returns the same elements with another shape.
  TensorRef as(const std::vector<int64_t> &shape) const;
  /// Returns an element, as kernels left it.
  template <class... Index> double operator()(Index... index) const { return read(place({int64_t(index)...})); }
  template <class... Index> void set(double number, Index... index) { write(place({int64_t(index)...}), number); }

private:
  int64_t place(std::initializer_list<int64_t> index) const;
  double read(int64_t place) const;
  void write(int64_t place, double number);

  DType dtype_;
  std::vector<int64_t> shape_;
  MirroredMemory memory_;
};

// Views of the same elements.
TensorRef fixed(TensorRef x, int axis, int64_t index);               ///< Leaves `axis` out.
TensorRef part(TensorRef x, int axis, int64_t first, int64_t count); ///< Has the indices from `first` on.
TensorRef withAxis(TensorRef x, int axis);                           ///< Has a new dimension of one element.
TensorRef swapped(TensorRef x, int first, int second);               ///< Swaps two dimensions.
TensorRef repeated(TensorRef x, int64_t count);                      ///< Has the first element `count` times.

/// Makes the plan and launches it. Gives decoding its workspace.
void run(const Expected<PlanSpec> &spec, const std::vector<NamedArgument> &arguments);

/// A result of attention.
struct Row {
  std::vector<double> o;
  double lse;
};

/// Returns softmax(scores) values of `keys` keys. `score(key)` is -infinity for a hidden key. `value(key, column)` is
/// not called for it.
template <class Score, class Value>
Row attention(int64_t keys, int columns, Score score, Value value, double sink = -kInfinity) {
  double sum = std::exp(sink);
  Row row{std::vector<double>(size_t(columns)), 0};
  for (int64_t key = 0; key < keys; ++key) {
    const double p = std::exp(score(key));
    sum += p;
    for (int c = 0; c < columns && p != 0; ++c)
      row.o[size_t(c)] += p * value(key, c);
  }
  for (double &x : row.o)
    x /= sum == 0 ? 1 : sum;
  row.lse = std::log(sum);
  return row;
}

/// Returns a column of a row that is rotated by the angles of a position. `row(column)` is the row, and cos and sin are
/// [positions, rotary_dim / 2].
template <class Numbers>
double rotated(const Array &cos, const Array &sin, int rotary_dim, bool interleaved, int64_t position, int column,
               Numbers row) {
  if (column >= rotary_dim)
    return row(column);
  const int half = rotary_dim / 2, pair = interleaved ? column / 2 : column % half;
  const bool isSecond = interleaved ? column % 2 == 1 : column >= half;
  const int first = interleaved ? 2 * pair : pair, second = interleaved ? first + 1 : first + half;
  return isSecond ? row(first) * sin(position, pair) + row(second) * cos(position, pair)
                  : row(first) * cos(position, pair) - row(second) * sin(position, pair);
}

} // namespace tegula::testing
