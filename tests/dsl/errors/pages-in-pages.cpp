// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

static void kernel(View pool, View table, View out, View counters, View deep) {
  paged(packed(pool).rows(0, 9), table, 16); // expect-error: paged: the first dimension of this view lies in pages already
  out.orderedAdd(0, fill({4}, 1.0), {packed(counters), 0, 0, 1}); // expect-error: orderedAdd: the counters lie in pages; take counters that follow each other in a tensor
  paged(packed(pool).atAxis(1, 0), table, 16); // expect-error: paged: this is an f32 view of rank 1; it must have pages and their rows, which are two dimensions
  packed(packed(deep).atAxis(1, 0)); // expect-error: packed: the first dimension of this view lies in pages already
}

ERROR_RECORDING(return record("kernel", kernel, TensorArg{"pool", f32, 3}, TensorArg{"table", i32, 1},
                              TensorArg{"out", f32, 1}, TensorArg{"counters", i32, 2}, TensorArg{"deep", f32, 4});)
