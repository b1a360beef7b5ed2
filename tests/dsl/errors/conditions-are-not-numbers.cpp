// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View B, View, Value, Value n) {
  Value mask = B.load(0, {4, 4}) > 0; // expect-note: i1 [4, 4] is made here // expect-note: i1 [4, 4] is made here // expect-note: i1 [4, 4] is made here
  mask * 2; // expect-error: *: a condition (i1) and a number do not mix; use select(...), or cast the condition
  mask + mask; // expect-error: +: conditions (i1) are combined by &, |, ^ and !, or cast to a number
  (n > 0) & (n + 1); // expect-error: &: a condition (i1) and a number do not mix
  exp(n > 0); // expect-error: exp: conditions (i1) are combined by
  !(n + 1); // expect-error: !: the condition is an i32 scalar
  cast(DType::i1, n + 1); // expect-error: cast: an i32 scalar (line 13) cannot be cast to i1; compare it, such as x != 0
}
