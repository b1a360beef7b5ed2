// SPDX-License-Identifier: MIT
#include "tegula/dsl.h"

using namespace tegula;

// expect-first: record: the kernel takes more or fewer arguments than record() is given after it
Expected<Program> program() {
  int size = 4;
  auto kernel = [&](View x, View out) { out.store(0, x.load(0, {size})); };
#ifdef BAD
  return record("kernel", kernel, TensorArg{"x", f32, 1}, TensorArg{"out", f32, 1}, size);
#endif
  return record("kernel", kernel, TensorArg{"x", f32, 1}, TensorArg{"out", f32, 1});
}
