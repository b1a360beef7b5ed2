// SPDX-License-Identifier: MIT
#include "tegula/dsl.h"

using namespace tegula;

// expect-first: record: an argument of the kernel has another type. TensorArg arrives as View, ScalarArg as Value
void kernel(View x, View out, Value scale) { out.store(0, x.load(0, {4}) * scale); }

Expected<Program> program() {
#ifdef BAD
  return record("kernel", kernel, TensorArg{"x", f32, 1}, ScalarArg{"scale", f32}, TensorArg{"out", f32, 1});
#endif
  return record("kernel", kernel, TensorArg{"x", f32, 1}, TensorArg{"out", f32, 1}, ScalarArg{"scale", f32});
}
