// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View B, View, Value, Value) {
  Value x = B.load(0, {8, 8});
  Var y = x;
  for (Value i : range(0, 4)) // expect-error: differentiate: a Var that a loop or branch changes depends on the input
    y = y * B.load(i, {8, 8});
  B.store(0, differentiate(y, x, 1.0 * x)); // expect-note: differentiated here
}
