// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View B, View, Value, Value) {
  Var sum = fill({4}, 0); // expect-note: the Var is declared here
  for (Value i : range(0, 8))
    sum = sum + rowSum(B.load(i, {4, 8})); // expect-error: a Var that holds i32 [4] cannot become f32 [4] inside of a loop or branch
}
