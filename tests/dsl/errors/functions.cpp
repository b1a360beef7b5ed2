// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View B, View C, Value, Value) {
  Value x = B.load(0, {8, 8});
  Value condition = x > 0.0; // expect-note: i1 [8, 8] is made here // expect-note: i1 [8, 8] is made here
  B.store(0, sigmoid(condition)); // expect-error: sigmoid: conditions (i1) are combined by
  B.store(0, pow(x, condition)); // expect-error: pow: conditions (i1) are combined by
  B.store(0, clamp(x, 0, C.load(0, {3}))); // expect-error: clamp: the shapes do not match
  C.store(0, rowLogSumExp(C.load(0, {8}))); // expect-error: rowLogSumExp: i32 [8] (line 12) is not a matrix
}
