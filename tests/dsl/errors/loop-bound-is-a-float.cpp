// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View, View C, Value scale, Value) {
  Value end = scale + 1; // expect-note: an f32 scalar is made here
  for (Value i : range(0, end)) // expect-error: range: an f32 scalar (line 7) is not a position; positions are integers
    C.store(i, 1);
}
