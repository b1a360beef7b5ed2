// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View B, View, Value, Value) {
  Value x = B.load(0, {8, 8});
  Value y = x * asColumn(rowMax(x)); // expect-error: differentiate: a reduction depends on the input, but only elementwise operations and cumsum can be differentiated
  B.store(0, differentiate(y, x, fill({8, 8}, 1.0))); // expect-note: differentiated here
}
