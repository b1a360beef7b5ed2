// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View B, View, Value, Value) {
  B.load(0, {4, 4}) % 2; // expect-error: %: floating-point operands are not legal; cast them to an integer type
  floorDiv(B.load(0, {4, 4}), 2); // expect-error: floorDiv: floating-point operands are not legal
  B.load(0, {4, 4}) << 2; // expect-error: <<: floating-point operands are not legal
  B.load(0, {4, 4}) & 2; // expect-error: &: floating-point operands are not legal
}
