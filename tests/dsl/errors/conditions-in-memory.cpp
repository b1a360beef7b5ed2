// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

static void kernel(View Seen) {
  Seen.store(0, iota(4)); // expect-error: store: i32 [4] (line 7) does not go into elements of type i1; write x != 0
  Seen.store(0, 1); // expect-error: store: the literal 1 does not go into elements of type i1; write x != 0
  Seen.atomicAdd(0, fill({4}, true)); // expect-error: atomicAdd: this is an i1 view of rank 1; only f32 and i32 elements can be added to
  Seen.load(0, {4}, 2); // expect-error: load: fill is 2.0; it must be an i1 value for an i1 view of rank 1
  Seen.load(0, {4}) + 1; // expect-error: +: a condition (i1) and a number do not mix; use select(...), or cast the condition // expect-note: i1 [4] is made here
  any(iota(4), 0); // expect-error: any: the condition is i32 [4] (line 12); it must be i1, such as x != 0
  all(iota(4)); // expect-error: all: the condition is i32 [4] (line 13); it must be i1, such as x != 0
  any(Seen.load(0, {4}), 1); // expect-error: any: axis 1 is not one of the 1 dimensions of
  anyOf({Seen.load(0, {4}), iota(4)}); // expect-error: |: a condition (i1) and a number do not mix
}

ERROR_RECORDING(return record("conditions", kernel, TensorArg{"seen", DType::i1, 1});)
