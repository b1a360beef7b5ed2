// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View A, View B, View C, Value, Value) {
  paged(B, C, 0); // expect-error: paged: a page has 0 rows; it must have at least 1
  paged(C, C, 16); // expect-error: paged: this is an i32 view of rank 1; it must have pages and their rows, which are two dimensions
  paged(B, B.at(0), 16); // expect-error: paged: the table is an f32 view of rank 1; it must be a view of type i32 and rank 1
  paged(B, C, B, 16); // expect-error: paged: the lengths are an f32 view of rank 2; it must be a view of type i32 and rank 1
  packed(A).rows(0, 4).load(0, {4, 4}); // expect-error: load: the shape [4, 4] has 2 dimensions, but this is a bf16 view of rank 1
}
