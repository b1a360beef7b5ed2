// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View A, View, View C, Value scale, Value n) { // expect-note: an i32 scalar is made here // expect-note: an i32 scalar is made here // expect-note: an f32 scalar is made here // expect-note: an f32 scalar is made here
  Value wide = cast(i64, iota(4)); // expect-note: i64 [4] is made here // expect-note: i64 [4] is made here
  mulhi(n, scale); // expect-error: mulhi: floating-point operands are not legal; cast them to an integer type
  mulhi(wide, n);  // expect-error: mulhi: the factors are i64; they must be i32
  randomBytes({scale, 0, 0}, n, n); // expect-error: randomBytes: the seed is an f32 scalar (line 6); it must be an integer of at most 64 bits
  randomBytes({n, iota(4), 0}, n, n); // expect-error: randomBytes: the offset is i32 [4] (line 11); it must be a scalar
  random({n, 0, cast(i64, n)}, n, n); // expect-error: random: the stream is an i64 scalar (line 12); it must be an integer of at most 32 bits
  random({n, 0, 0}, wide, n); // expect-error: random: the row is i64 [4] (line 7); it must be an integer of at most 32 bits
  random({n, 0, 0}, n, A.load(0, {4, 4})); // expect-error: random: the column is bf16 [4, 4] (line 14); it must be an integer of at most 32 bits
  random({n, 0, 0}, iota(4), iota(8)); // expect-error: random: the shapes do not match, i32 [4] (line 15) and i32 [8] (line 15)
  random({n, 0, 0}, n, n, 6); // expect-error: random: rounds is 6; legal are 7 to 16
  random({n, 0, 0}, programId(0), C.load(0, {4}));
}
