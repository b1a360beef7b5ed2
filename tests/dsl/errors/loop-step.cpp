// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View, View C, Value, Value) {
  for (Value i : range(0, 8, 0)) // expect-error: range: the step is 0; it must be positive
    C.store(i, 1);
}
