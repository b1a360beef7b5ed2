// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View A, View B, View, Value, Value) {
  OnlineSoftmax softmax(64, 128);
  Value v = A.load(0, {32, 64}); // expect-note: bf16 [32, 64] is made here
  softmax.update(B.load(0, {64, 32}), v); // expect-error: OnlineSoftmax: scores are f32 [64, 32] (line 9) and values bf16 [32, 64] (line 8); they must be [rows, keys] and [keys, value_dim] with rows = 64 and value_dim = 128
  softmax.update(iota(4), v); // expect-error: OnlineSoftmax: i32 [4] (line 10) is not a floating-point matrix
  OnlineSoftmax saved(fill({4}, 0.0), fill({8}, 0.0), fill({4, 8}, 0.0)); // expect-error: OnlineSoftmax: l is f32 [8] (line 11); it must be f32 [4]
  OnlineSoftmax sunk(4, 8, fill({4}, 0.0)); // expect-error: OnlineSoftmax: sink is f32 [4] (line 12); it must be an f32 scalar
  softmax.update(B.load(0, {64, 32}), A.load(0, {32, 128}), fill({3, 32}, 0.0) > 0.0); // expect-error: OnlineSoftmax: keep is i1 [3, 32] (line 13); it must repeat to the shape of the scores, [64, 32]
  softmax.update(B.load(0, {64, 32}), cast(e4m3, B.load(0, {32, 128}))); // expect-error: OnlineSoftmax: the values are e4m3 [32, 128] (line 14), and probabilities are rounded to their type; cast them to f16 or bf16
  softmax.merge(B.load(0, {64, 64}), fill({64}, 0.0)); // expect-error: OnlineSoftmax: output is f32 [64, 64] (line 15); it must be f32 [64, 128]
  softmax.merge(B.load(0, {64, 128}), fill({32}, 0.0)); // expect-error: OnlineSoftmax: lse is f32 [32] (line 16); it must be f32 [64]
}
