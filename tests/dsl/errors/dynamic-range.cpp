// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View A, View B, View C, Value, Value n) {
  for (Value i : dynamicRange(A, n)) // expect-error: dynamicRange: the counter is a bf16 view of rank 2; it must be a tensor argument of type i32 and rank 1
    B.store({i, 0}, 1);
  for (Value i : dynamicRange(B.at(0), n)) // expect-error: dynamicRange: the counter is an f32 view of rank 1; it must be a tensor argument of type i32 and rank 1
    B.store({i, 0}, 1);
  Var sum = constant(i32, 0); // expect-note: the Var is declared here
  for (Value i : dynamicRange(C, n)) { // expect-error: dynamicRange: its iterations, which different program instances run, assign to a Var of outside
    B.store({i, 0}, 1);
    sum += 1;
  }
  for (Value i : dynamicRange(C, n)) // expect-error: dynamicRange: this counter counts another loop; each loop needs its own
    B.store({i, 0}, 1);
}
