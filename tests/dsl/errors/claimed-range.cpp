// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View A, View B, View C, Value, Value n) {
  for (Value i : claimedRange(A, n)) // expect-error: claimedRange: the counter is a bf16 view of rank 2; it must be a tensor argument of type i32 and rank 1
    B.store({i, 0}, 1);
  for (Value i : claimedRange(B.at(0), n)) // expect-error: claimedRange: the counter is an f32 view of rank 1; it must be a tensor argument of type i32 and rank 1
    B.store({i, 0}, 1);
  Var sum = constant(i32, 0); // expect-note: the Var is declared here
  for (Value i : claimedRange(C, n)) { // expect-error: claimedRange: its iterations, which different program instances run, assign to a Var of outside
    B.store({i, 0}, 1);
    sum += 1;
  }
  for (Value i : claimedRange(C, n)) // expect-error: claimedRange: this counter counts another loop; each loop needs its own
    B.store({i, 0}, 1);
}
