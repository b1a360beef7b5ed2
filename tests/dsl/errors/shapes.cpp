// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View B, View, Value, Value) {
  Value x = B.load(0, {4, 8}); // expect-note: f32 [4, 8] is made here // expect-note: f32 [4, 8] is made here // expect-note: f32 [4, 8] is made here // expect-note: f32 [4, 8] is made here // expect-note: f32 [4, 8] is made here
  reshape(x, {4, 4}); // expect-error: reshape: f32 [4, 8] (line 7) has 32 elements, but the shape [4, 4] has 16
  broadcast(x, {8, 8}); // expect-error: broadcast: f32 [4, 8] (line 7) does not repeat to [8, 8]; the ranks must be equal
  transpose(rowMax(x)); // expect-error: transpose: f32 [4] (line 10) is not a matrix; permute(...) takes tiles of other ranks
  permute(x, {0, 2}); // expect-error: permute: {0, 2} does not permute the 2 dimensions of f32 [4, 8] (line 7)
  asColumn(x); // expect-error: asColumn: f32 [4, 8] (line 7) is not a vector; it must have rank 1
  asRow(1.0); // expect-error: asRow: the literal 1.0 is not a vector
  fill({4}, x); // expect-error: fill: f32 [4, 8] (line 7) is not a scalar; use broadcast
  fill({}, 1.0); // expect-error: fill: the shape [] is not legal
  iota(-1); // expect-error: iota: the shape [-1] is not legal
  constant(i32, 0.5); constant(i8, 300); // expect-error: constant: 0.5 is not an i32 value // expect-error: constant: 300.0 is not an i8 value
  programId(3); // expect-error: programId: axis 3 is not 0, 1 or 2
}
