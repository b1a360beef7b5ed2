// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View B, View, Value, Value) {
  Value x = B.load(0, {8, 8}); // expect-note: f32 [8, 8] is made here // expect-note: f32 [8, 8] is made here
  Value y = x.shape() == Shape{8, 8} ? rowMax(x) : x; // expect-note: f32 [8] is made here
  B.store(0, differentiate(y, x, x)); // expect-error: differentiate: output is f32 [8] (line 8), input f32 [8, 8] (line 7) and seed f32 [8, 8] (line 7); they must be floating-point and of one shape
}
