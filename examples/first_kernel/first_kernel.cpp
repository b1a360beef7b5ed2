// SPDX-License-Identifier: MIT
// Flash attention from nothing: write it as a program over tiles, compile it, run it on the cores of this machine.
#include "tegula/dsl.h"
#include "tegula/kernel_cache.h"
#include "tegula/worker_compiler.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

using namespace tegula;

constexpr int64_t kRows = 64, kKeys = 32, kDim = 64; // Tile sizes: queries and keys at a time, numbers in each.
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void attention(View Q, View K, View V, View O, Value scale) {
  Value row = programId(0) * kRows;
  Value q = Q.load(row, {kRows, kDim});
  OnlineSoftmax softmax(kRows, kDim); // Running row maximum, row sum and output.
  for (Value key : range(0, K.dim(0), kKeys)) {
    Value k = K.load(key, {kKeys, kDim});
    Value v = V.load(key, {kKeys, kDim});
    Value s = dot(q, transpose(k)) * scale;
    Value exists = key + asRow(iota(kKeys)) < K.dim(0);
    softmax.update(select(exists, s, -kInfinity), v);
  }
  O.store(row, softmax.output());
}

/// Matrices in C order: `length` rows of kDim numbers.
struct Matrices {
  int64_t length;
  std::vector<float> q, k, v, o;
};

/// Computes x.o from the others.
Status runAttention(Matrices &x, float scale) {
  Expected<Program> program = record("attention", attention, TensorArg{"q", f32, 2}, TensorArg{"k", f32, 2},
                                     TensorArg{"v", f32, 2}, TensorArg{"o", f32, 2}, ScalarArg{"scale", f32});
  if (!program)
    return program.status();
  Expected<std::shared_ptr<Device>> device = cpuDevice();
  if (!device)
    return device.status();
  std::unique_ptr<Compiler> compiler = makeWorkerCompiler();
  KernelCache cache(*compiler, *device);
  Expected<std::shared_ptr<Kernel>> kernel = cache.get(program->text);
  if (!kernel)
    return kernel.status();
  auto matrix = [&](std::vector<float> &numbers) { return contiguous(numbers.data(), f32, {x.length, kDim}); };
  Grid grid{.x = (x.length + kRows - 1) / kRows};
  return (*kernel)->launch(grid, {matrix(x.q), matrix(x.k), matrix(x.v), matrix(x.o), scale});
}

/// Returns the largest difference between x.o and the same in double precision, by plain loops.
double largestError(const Matrices &x, float scale) {
  double largest = 0;
  for (int64_t i = 0; i < x.length; ++i) {
    double sum = 0;
    std::vector<double> o(kDim);
    for (int64_t j = 0; j < x.length; ++j) {
      double score = 0;
      for (int64_t d = 0; d < kDim; ++d)
        score += double(x.q[i * kDim + d]) * x.k[j * kDim + d];
      const double weight = std::exp(scale * score); // Scores are small here: no maximum need be subtracted.
      sum += weight;
      for (int64_t d = 0; d < kDim; ++d)
        o[d] += weight * x.v[j * kDim + d];
    }
    for (int64_t d = 0; d < kDim; ++d)
      largest = std::max(largest, std::abs(x.o[i * kDim + d] - o[d] / sum));
  }
  return largest;
}

std::vector<float> normalNumbers(int64_t count) {
  static std::mt19937 random(/*seed=*/1);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  for (float &number : numbers)
    number = normal(random);
  return numbers;
}

int main() {
  const float scale = 0.125f;
  const int64_t length = 1000, count = length * kDim;
  Matrices x{length, normalNumbers(count), normalNumbers(count), normalNumbers(count), std::vector<float>(count)};
  if (Status status = runAttention(x, scale); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  }
  const double error = largestError(x, scale);
  std::printf("largest difference from double precision: %.1e\n", error);
  return error < 1e-5 ? 0 : 1;
}
