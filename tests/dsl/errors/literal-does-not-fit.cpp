// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View, View C, Value, Value n) {
  C.store(0, n + (int64_t(1) << 40)); // expect-error: +: the literal 1099511627776 does not fit into i32
}
