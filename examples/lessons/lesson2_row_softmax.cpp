// SPDX-License-Identifier: MIT
// Lesson 2: reductions and broadcasts. Each program instance computes the softmax of a few rows.
#include "lesson.h"
#include "tegula/dsl.h"

using namespace tegula;

constexpr int64_t kRows = 8, kColumns = 512; // The tile. Matrices may have any number of rows, and up to 512 columns.

void rowSoftmax(View X, View Y) {
  Value row = programId(0) * kRows;
  Value x = X.load(row, {kRows, kColumns}, -kInfinity); // Columns beyond the end are -inf, so that they count as 0.
  Value e = exp(x - asColumn(rowMax(x)));               // [kRows, kColumns] - [kRows, 1]
  Y.store(row, e / asColumn(rowSum(e)));
}

int main() {
  Machine machine;
  const Program program = valueOf(record("row_softmax", rowSoftmax, TensorArg{"x", f32, 2}, TensorArg{"y", f32, 2}));
  const std::shared_ptr<Kernel> kernel = valueOf(machine.cache.get(program.text));

  const int64_t rows = 100, columns = 300;
  const std::vector<float> x = randomNumbers(rows * columns);
  const TensorRef X = machine.upload(x, {rows, columns}), Y = machine.allocate({rows, columns});
  require(kernel->launch({.x = (rows + kRows - 1) / kRows}, {X, Y}));

  std::vector<double> exact;
  for (int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < columns; ++j)
      sum += std::exp(double(x[i * columns + j]));
    for (int64_t j = 0; j < columns; ++j)
      exact.push_back(std::exp(double(x[i * columns + j])) / sum);
  }
  const std::vector<float> y = machine.download(Y);
  double sum = 0;
  for (int64_t j = 0; j < columns; ++j)
    sum += y[j];
  std::printf("sum of the first row: %.6f\n", sum);
  return check("y", y, exact, 1e-7) ? 0 : 1;
}
