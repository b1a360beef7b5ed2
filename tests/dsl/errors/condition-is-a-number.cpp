// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View, View C, Value, Value n) {
  Value count = n + 1;               // expect-note: an i32 scalar is made here // expect-note: an i32 scalar is made here
  when(count, [&] { C.store(0, 1); }); // expect-error: when: the condition is an i32 scalar (line 7); it must be i1, such as x != 0
  select(count, 1.0, 0.0);           // expect-error: select: the condition is an i32 scalar (line 7)
}
