// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View B, View, Value, Value) {
  B.at(0, 0); // expect-error: at: 2 indices are given, but this is an f32 view of rank 2, and one dimension must remain
  B.dim(2); // expect-error: dim: axis 2 is not one of the dimensions of an f32 view of rank 2
  B.at(0).dim(1); // expect-error: dim: axis 1 is not one of the dimensions of an f32 view of rank 1
  B.rows(0.5, 4); // expect-error: rows: the literal 0.5 is not a position; positions are integers
  B.rows(0, iota(4)).dim(2); // expect-error: rows: i32 [4] (line 11) is not a position
  B.rows(0, 4).load(0, {4}); // expect-error: load: the shape [4] has 1 dimensions, but this is an f32 view of rank 2
  B.at(iota(4)); // expect-error: at: i32 [4] (line 13) is not a position
  B.atAxis(2, 0); // expect-error: atAxis: axes 2 to 2 are not all dimensions of an f32 view of rank 2
  B.atAxis(-1, 0); // expect-error: atAxis: axes -1 to -1 are not all dimensions of an f32 view of rank 2
  B.atAxis(1, 0, 0); // expect-error: atAxis: 2 indices are given, but this is an f32 view of rank 2, and one dimension must remain
  B.atAxis(1, 0.5); // expect-error: atAxis: the literal 0.5 is not a position; positions are integers
  B.atAxis(1, 0).dim(1); // expect-error: dim: axis 1 is not one of the dimensions of an f32 view of rank 1
}
