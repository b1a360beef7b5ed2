// SPDX-License-Identifier: MIT
#include "tegula/dsl.h"

using namespace tegula;

// expect-first: record: the kernel takes more or fewer arguments than record() is given after it
void kernel(View x, View out, int size) { out.store(0, x.load(0, {size})); }

Expected<Program> program() {
#ifdef BAD
  return record("kernel", kernel, TensorArg{"x", f32, 1}, TensorArg{"out", f32, 1});
#endif
  return record("kernel", kernel, TensorArg{"x", f32, 1}, TensorArg{"out", f32, 1}, 4);
}
