// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View B, View C, Value, Value) {
  Value x = B.load(0, {4, 4});
  label("1x", x);               // expect-error: label: '1x' is no label; legal are letters, digits and underscores, with no digit first
  label("x", x + 1.0);          // expect-error: label: only dots, loads, gathers, stores and additions have a label
  label("x", 1.0);              // expect-error: label: a literal has no label
  label("x", [&] { // expect-error: label: 'x' is for one store or addition, and there are 2
    C.store(0, 1);
    C.store(1, 1);
  });
  for (Value i : range(0, 8, 1, Steps("x", "a role"))) // expect-error: range: 'a role' is no name of a role
    C.store(i, 1);
  for (Value i : range(0, 8, 1, Steps("\"x\""))) // expect-error: range: a step list has labels, @1, .end@1, < and >, and no quotes
    C.store(i, 1);
}
