// SPDX-License-Identifier: MIT
// Lesson 1: a kernel is a function over tiles. It is recorded once, compiled, and launched for any number of elements.
#include "lesson.h"
#include "tegula/dsl.h"

using namespace tegula;

constexpr int64_t kTile = 256; // Elements of each program instance.

/// Computes Z = X + Y. Elements beyond the end are not stored.
void vectorAdd(View X, View Y, View Z) {
  Value first = programId(0) * kTile;
  Z.store(first, X.load(first, {kTile}) + Y.load(first, {kTile}));
}

int main() {
  // Recording runs the function. It computes nothing; its operations become a program in text.
  const Program program =
      valueOf(record("vector_add", vectorAdd, TensorArg{"x", f32, 1}, TensorArg{"y", f32, 1}, TensorArg{"z", f32, 1}));
  std::printf("%s\n", program.text.c_str());

  Machine machine;
  const std::shared_ptr<Kernel> kernel = valueOf(machine.cache.get(program.text)); // Compiles and loads.

  const int64_t n = 1000;
  const std::vector<float> x = randomNumbers(n), y = randomNumbers(n);
  const TensorRef X = machine.upload(x, {n}), Y = machine.upload(y, {n}), Z = machine.allocate({n});
  const Grid grid{.x = (n + kTile - 1) / kTile};
  require(kernel->launch(grid, {X, Y, Z}));

  std::vector<double> exact(n);
  for (int64_t i = 0; i < n; ++i)
    exact[i] = double(x[i]) + y[i];
  return check("z", machine.download(Z), exact, 0) ? 0 : 1;
}
