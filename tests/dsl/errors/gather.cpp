// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View B, View, Value, Value) {
  B.gather(iota(4)); // expect-error: gather: 1 indices are given, but this is an f32 view of rank 2
  B.gather(iota(4), fill({4}, 1.0)); // expect-error: gather: f32 [4] (line 8) is not an index; indices are integers
  B.gather(iota(4), iota(8)); // expect-error: gather: the shapes do not match, i32 [4] (line 9) and i32 [8] (line 9)
}
