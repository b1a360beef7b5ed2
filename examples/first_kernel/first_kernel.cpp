// SPDX-License-Identifier: MIT
// Flash attention from nothing: write it as a program over tiles, compile it, run it on the cores of this machine.
#include "compiler/client/InProcessCompiler.h"
#include "oracle/inputs.h"
#include "tegula/dsl.h"
#include "tegula/kernel_cache.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

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

Status runOn(int64_t length, const oracle::Inputs &inputs, float scale, std::vector<float> &o) {
  Expected<Program> program = record("attention", attention, TensorArg{"q", f32, 2}, TensorArg{"k", f32, 2},
                                     TensorArg{"v", f32, 2}, TensorArg{"o", f32, 2}, ScalarArg{"scale", f32});
  if (!program)
    return program.status();
  Expected<std::shared_ptr<Device>> device = cpuDevice();
  if (!device)
    return device.status();
  std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  KernelCache cache(*compiler, *device);
  Expected<std::shared_ptr<Kernel>> kernel = cache.get(program->text);
  if (!kernel)
    return kernel.status();
  auto matrix = [&](const std::vector<float> &x) { return contiguous((void *)x.data(), f32, {length, kDim}); };
  Grid grid{.x = (length + kRows - 1) / kRows};
  return (*kernel)->launch(grid, {matrix(inputs.q), matrix(inputs.k), matrix(inputs.v), matrix(o), scale});
}

int main() {
  const float scale = 0.125f;
  oracle::Shape shape{.seqlen_q = 1000, .seqlen_k = 1000, .head_dim = kDim, .value_dim = kDim};
  oracle::Inputs inputs = oracle::makeInputs(shape, scale, f32, oracle::Family::normal, /*seed=*/1);
  std::vector<float> o(shape.sizeO());
  if (Status status = runOn(shape.seqlen_q, inputs, scale, o); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  }
  std::vector<double> exact = oracle::forward(shape, {}, scale, inputs).o;
  double error = 0;
  for (size_t n = 0; n < o.size(); ++n)
    error = std::max(error, std::abs(o[n] - exact[n]));
  std::printf("largest difference from double precision: %.1e\n", error);
  return error < 1e-5 ? 0 : 1;
}
