// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View, View C, Value, Value) {
  when(C.load(0, {4}) > 0, [&] { C.store(0, 1); }); // expect-error: when: the condition is i1 [4], but a branch needs a scalar; use select(...) for tiles
}
