// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View A, View B, View C, Value, Value n) {
  const Turn turn{C, 0, n, n + 1};
  B.orderedAdd(0, fill({4, 4}, 1.0), {B, 0, n, n + 1}); // expect-error: orderedAdd: the counters are an f32 view of rank 2; they must be a view of type i32 and rank 1
  A.orderedAdd(0, fill({4, 4}, 1.0), turn); // expect-error: orderedAdd: this is a bf16 view of rank 2; only f32 and i32 elements can be added to
  B.orderedAdd(0, fill({4}, 1.0), turn); // expect-error: orderedAdd: f32 [4] (line 10) has 1 dimensions, but the view has 2; reshape the tile or fix leading dimensions by at(...)
  B.orderedAdd(0, fill({4, 4}, 1.0), {C.rows(n, 9), 0, n, n + 1}); // expect-error: orderedAdd: the counters are rows(begin, end) of a tensor; take the tensor, and add begin to the place
  when(n > 0, [&] {
    B.orderedAdd(0, fill({4, 4}, 1.0), turn); // expect-error: orderedAdd: the call is inside when(...), which some threads of the program instance may skip; compute the tile there and add it afterwards
  });
}
