// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View B, View, Value, Value) {
  Value x = B.load(0, {4, 8}); // expect-note: f32 [4, 8] is made here // expect-note: f32 [4, 8] is made here // expect-note: f32 [4, 8] is made here // expect-note: f32 [4, 8] is made here // expect-note: f32 [4, 8] is made here
  columns(x, 4, 9); // expect-error: columns: begin 4, end 9 and step 1 take no columns of f32 [4, 8] (line 7); legal are 0 <= begin < end <= 8 and step >= 1
  columns(x, 0, 8, 0); // expect-error: columns: begin 0, end 8 and step 0 take no columns of f32 [4, 8] (line 7)
  columns(0.5, 0, 1); // expect-error: columns: the literal 0.5 has no columns
  joinColumns(x, columns(x, 0, 2) > 0.0); // expect-error: joinColumns: a condition (i1) and a number do not mix; use select(...), or cast the condition
  joinColumns(x, B.load(0, {2, 8})); // expect-error: joinColumns: f32 [4, 8] (line 7) and f32 [2, 8] (line 12) must have one shape except for the number of columns
  interleaveColumns(x, columns(x, 0, 4)); // expect-error: interleaveColumns: f32 [4, 8] (line 7) and f32 [4, 4] (line 13) must have one shape
}
