// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View B, View C, Value, Value) {
  Value x = B.load(0, {4, 8}); // expect-note: f32 [4, 8] is made here // expect-note: f32 [4, 8] is made here
  reduceSum(x, 2); // expect-error: reduceSum: axis 2 is not one of the 2 dimensions of f32 [4, 8] (line 7)
  reduceMax(1.0, 0); // expect-error: reduceMax: the literal 1.0 is not a tile
  rowMax(C.load(0, {4})); // expect-error: rowMax: i32 [4] (line 10) is not a matrix; reduceMax and reduceSum take other ranks
  rowSum(x > 0); // expect-error: rowSum: i1 [4, 8] (line 11) cannot be reduced; cast it to f32 or i32
  cumsum(x, -1); // expect-error: cumsum: axis -1 is not one of the 2 dimensions of f32 [4, 8] (line 7)
}
