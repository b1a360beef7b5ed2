// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View A, View B, View C, Value, Value) {
  Value x = B.load(0, {8, 8});
  const ViewGradient gathered[] = {{A, C}};
  Value y = x + A.gather(asColumn(iota(8)), asRow(iota(8)));
  B.store(0, differentiate(y, x, x, gathered)); // expect-error: differentiate: the gradient of a bf16 view of rank 2 is an i32 view of rank 1; it must be an f32 view of rank 2
}
