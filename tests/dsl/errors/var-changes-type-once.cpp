// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

// The type of the Var is one mistake, wherever the Var is used.
ERROR_PROGRAM(View, View B, View, Value, Value n) {
  Var sum = fill({4}, 0); // expect-note: the Var is declared here
  for (Value i : range(0, 8)) {
    sum = sum + rowSum(B.load(i, {4, 8})); // expect-error: a Var that holds i32 [4] cannot become f32 [4] inside of a loop or branch
    sum = sum * 0.5;
  }
  when(n > 3, [&] { sum = sum * 0.5; }, [&] { sum = exp(sum); });
  B.store(0, asRow(sum));
}
