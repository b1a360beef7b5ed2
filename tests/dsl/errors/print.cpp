// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View B, View, Value scale, Value) {
  Value x = B.load(0, {4, 8}); // expect-note: f32 [4, 8] is made here
  print("\"x\"", x); // expect-error: print: '"x"' is no label; legal are printable ASCII characters, without quotes and backslashes
  print("one", 1); // expect-error: print: a literal is known before the kernel runs; print takes a scalar or a tile of the program
  print("x", x, x > 0.0); // expect-error: when:
  print("scale", scale);
  deviceAssert(x > 0.0, "\\", x); // expect-error: deviceAssert: '\' is no label; legal are printable ASCII characters, without quotes and backslashes
  deviceAssert(x > 0.0, "one", 1); // expect-error: deviceAssert: a literal is known before the kernel runs; deviceAssert takes a scalar or a tile of the program
  deviceAssert(x, "x", x); // expect-error: deviceAssert:
  deviceAssert(x > 0.0, "x", scale);
}
