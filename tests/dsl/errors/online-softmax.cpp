// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View A, View B, View, Value, Value) {
  OnlineSoftmax softmax(64, 128);
  Value v = A.load(0, {32, 64}); // expect-note: bf16 [32, 64] is made here
  softmax.update(B.load(0, {64, 32}), v); // expect-error: OnlineSoftmax: scores are f32 [64, 32] (line 9) and values bf16 [32, 64] (line 8); they must be [rows, keys] and [keys, value_dim] with rows = 64 and value_dim = 128
  softmax.update(iota(4), v); // expect-error: OnlineSoftmax: i32 [4] (line 10) is not a floating-point matrix
  OnlineSoftmax saved(fill({4}, 0.0), fill({8}, 0.0), fill({4, 8}, 0.0)); // expect-error: OnlineSoftmax: l is f32 [8] (line 11); it must be f32 [4]
}
