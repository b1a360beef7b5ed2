// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View A, View B, View C, Value, Value) {
  Value a = A.load(0, {8, 8}), b = B.load(0, {8, 8}); // expect-note: bf16 [8, 8] is made here // expect-note: f32 [8, 8] is made here
  dot(a, // expect-error: dot: element types differ, bf16 [8, 8] (line 7) and f32 [8, 8] (line 7); cast one of them
      b);
  dot(a, rowMax(a)); // expect-error: dot: f32 [8] (line 10) is not a floating-point matrix
  dot(C.load(0, {8}), a); // expect-error: dot: i32 [8] (line 11) is not a floating-point matrix
  dot(a, a, fill({4, 8}, 0.0)); // expect-error: dot: the accumulator is f32 [4, 8] (line 12), but the product is f32 [8, 8]
  Value c = A.load(8, {8, 8}); // expect-note: bf16 [8, 8] is made here
  dot(c, c, Precision::tf32); // expect-error: dot: tf32 is for f32 operands, not for bf16 [8, 8] (line 13); leave tf32 out
  dot(b, b, b, Precision::tf32);
}
