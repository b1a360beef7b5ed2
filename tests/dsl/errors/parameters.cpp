// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

static void kernel(View, View, View, Value, Value, Value) {}

static Expected<Program> recordKernel() {
  TensorArg rank{"x", f32, 6}, type{"y", DType::index, 1}, name{"1", f32, 1};
  ScalarArg once{"a", f32}, twice{"a", f32}, narrow{"b", bf16};
  return record("not a name", kernel, rank, type, name, once, twice, narrow); // expect-error: the kernel name 'not a name' is not an identifier // expect-error: the tensor 'x' has rank 6; the rank must be from 1 to 5 // expect-error: the tensor 'y' has elements of type index; legal are f32, f16, bf16, e4m3, i64, i32, i8 and i1 // expect-error: the parameter name '1' is not an identifier // expect-error: two parameters have the name 'a' // expect-error: the scalar 'b' has type bf16; legal are f32, i32 and i64
}

ERROR_RECORDING(return recordKernel();)
