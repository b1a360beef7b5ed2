// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View A, View, View, Value, Value) {
  Value q = A.load(0, {64, 128});  // expect-note: bf16 [64, 128] is made here // expect-note: bf16 [64, 128] is made here
  Value k = A.load(64, {32, 128}); // expect-note: bf16 [32, 128] is made here
  dot(q, k); // expect-error: dot: inner sizes differ, 128 (line 7) and 32 (line 8); transpose the second operand or load {128, 128}
  dot(q, reshape(k, {64, 64})); // expect-error: dot: inner sizes differ, 128 (line 7) and 64 (line 10); load {128, 64}
}
