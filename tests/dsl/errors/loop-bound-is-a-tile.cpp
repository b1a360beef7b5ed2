// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View, View C, Value, Value) {
  for (Value i : range(0, C.load(0, {4}))) // expect-error: range: i32 [4] (line 7) is not a position; positions are scalars
    C.store(i, 1);
}
