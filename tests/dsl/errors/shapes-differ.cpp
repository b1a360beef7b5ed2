// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View B, View, Value, Value) {
  Value x = B.load(0, {8, 16}); // expect-note: f32 [8, 16] is made here // expect-note: f32 [8, 16] is made here // expect-note: f32 [8, 16] is made here
  Value m = rowMax(x);          // expect-note: f32 [8] is made here
  x - m; // expect-error: -: the shapes do not match, f32 [8, 16] (line 7) and f32 [8] (line 8); make the vector a matrix by asRow or asColumn
  x * B.load(0, {8, 8}); // expect-error: *: the shapes do not match, f32 [8, 16] (line 7) and f32 [8, 8] (line 10); only dimensions of size 1 repeat
  max(reshape(x, {2, 4, 16}), x); // expect-error: max: the shapes do not match, f32 [2, 4, 16] (line 11) and f32 [8, 16] (line 7); reshape one
}
