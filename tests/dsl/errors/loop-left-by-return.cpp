// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View, View C, Value, Value) {
  for (Value i : range(0, 8))
    for (Value j : range(0, i)) { // expect-error: this loop was left by break, return or an exception
      C.store(j, 1);
      break;
    }
  for (Value i : range(0, 8)) { // expect-error: this loop was left by break, return or an exception
    C.store(i, 1);
    return;
  }
}
