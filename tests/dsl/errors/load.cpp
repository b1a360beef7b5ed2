// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View B, View C, Value, Value) {
  B.load(0, {4}); // expect-error: load: the shape [4] has 1 dimensions, but this is an f32 view of rank 2
  B.load(0, {4, 0}); // expect-error: load: the shape [4, 0] is not legal; a tile has 1 to 5 dimensions of at least 1 and at most 1048576 elements
  B.load(0, {2048, 1024}); // expect-error: load: the shape [2048, 1024] is not legal
  C.load(0, {4}, 0.5); // expect-error: load: fill is 0.5; it must be an i32 value for an i32 view of rank 1
  C.load(0, {4}, 1e10); // expect-error: load: fill is 1.0e+10; it must be an i32 value for an i32 view of rank 1
  B.load(0.5, {4, 4}); // expect-error: load: the literal 0.5 is not a position; positions are integers
  B.load(iota(4), {4, 4}); // expect-error: load: i32 [4] (line 13) is not a position; positions are scalars, and gather takes tiles
}
