// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View B, View C, Value, Value n) {
  for (Value i : range(0, 8))
    for (Value j : dynamicRange(C, n)) // expect-error: dynamicRange: this loop is inside of another one; nothing would set its counter back to 0
      B.store({i, j}, 1);
}
