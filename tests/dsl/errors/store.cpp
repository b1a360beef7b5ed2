// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View A, View B, View C, Value, Value) {
  C.store(0, fill({4}, 1.0)); // expect-error: store: f32 [4] (line 7) does not go into elements of type i32; write cast(i32, ...)
  C.store(0, 0.5); // expect-error: store: the literal 0.5 does not go into elements of type i32
  C.store(0, cast(i64, iota(4))); // expect-error: store: i64 [4] (line 9) does not go into elements of type i32
  B.store(0, iota(4)); // expect-error: store: i32 [4] (line 10) does not go into elements of type f32; write cast(f32, ...)
  B.store(0, fill({4}, 1.0)); // expect-error: store: f32 [4] (line 11) has 1 dimensions, but the view has 2; reshape the tile or fix leading dimensions by at(...)
  B.store({0, 0, 0}, fill({4, 4}, 1.0)); // expect-error: store: 3 positions are given, but this is an f32 view of rank 2
  A.atomicAdd(0, fill({4, 4}, 1.0)); // expect-error: atomicAdd: this is a bf16 view of rank 2; only f32 and i32 elements can be added to
  A.scatterAdd(1.0, iota(4), iota(4)); // expect-error: scatterAdd: this is a bf16 view of rank 2
  B.scatterAdd(fill({8}, 1.0), iota(4), iota(4)); // expect-error: scatterAdd: the tile is f32 [8] (line 15), but the indices have the shape [4]
  B.scatter(fill({8}, 1.0), iota(4), iota(4)); // expect-error: scatter: the tile is f32 [8] (line 16), but the indices have the shape [4]
  C.scatter(0.5, iota(4)); // expect-error: scatter: the literal 0.5 does not go into elements of type i32
  A.scatter(1.0, iota(4)); // expect-error: scatter: 1 indices are given, but this is a bf16 view of rank 2
  B.storeWhere(iota(4) < 2, 0, fill({4, 4}, 1.0)); // expect-error: storeWhere: the condition is i1 [4] (line 19); it must repeat to the shape of the tile, [4, 4]
  B.storeWhere(iota(4), 0, fill({4, 4}, 1.0)); // expect-error: storeWhere: the condition is i32 [4] (line 20); it must be i1, such as x != 0
  C.storeWhere(true, 0, fill({4}, 1.0)); // expect-error: storeWhere: f32 [4] (line 21) does not go into elements of type i32; write cast(i32, ...)
}
