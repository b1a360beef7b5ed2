// RUN: tegula-opt %s --block-random --canonicalize --verify-diagnostics | FileCheck %s

// CHECK-LABEL: @rows_and_columns_from_multiples_of_16
// CHECK-SAME: %[[SEED:.*]]: i64, %[[STREAM:.*]]: i32, %[[BLOCK:.*]]: index
// CHECK: %[[FIRST:.*]] = arith.muli %[[BLOCK]]
// CHECK: %[[ROW:.*]] = arith.index_cast %[[FIRST]] : index to i32
// CHECK: %[[X:.*]] = sm.random %[[SEED]], %[[SEED]], %[[STREAM]] at %[[ROW]], %c32_i32 bits 8 rounds 10 : tensor<64x48xi32>
// CHECK: return %[[X]]
func.func @rows_and_columns_from_multiples_of_16(%seed: i64, %stream: i32, %block: index) -> tensor<64x48xi32> {
  %c64 = arith.constant 64 : index
  %first = arith.muli %block, %c64 : index
  %first32 = arith.index_cast %first : index to i32
  %i = tile.iota : tensor<64xi32>
  %j = tile.iota : tensor<48xi32>
  %i0 = tile.broadcast %first32 : i32 -> tensor<64xi32>
  %j0 = arith.constant dense<32> : tensor<48xi32>
  %row = arith.addi %i0, %i : tensor<64xi32>
  %key = arith.addi %j0, %j : tensor<48xi32>
  %column = tile.reshape %row : tensor<64xi32> -> tensor<64x1xi32>
  %line = tile.reshape %key : tensor<48xi32> -> tensor<1x48xi32>
  %rows = tile.broadcast %column : tensor<64x1xi32> -> tensor<64x48xi32>
  %keys = tile.broadcast %line : tensor<1x48xi32> -> tensor<64x48xi32>
  %0 = tile.random %seed, %seed, %stream at %rows, %keys bits 8 rounds 10 : tensor<64x48xi32>
  return %0 : tensor<64x48xi32>
}

// CHECK-LABEL: @rows_along_the_second_dimension
// CHECK: %[[X:.*]] = sm.random %{{.*}} at %c0_i32, %c0_i32 bits 32 rounds 7 : tensor<48x64xi32>
// CHECK: %[[T:.*]] = tile.transpose %[[X]] [1, 0] : tensor<48x64xi32> -> tensor<64x48xi32>
// CHECK: return %[[T]]
func.func @rows_along_the_second_dimension(%seed: i64, %stream: i32) -> tensor<64x48xi32> {
  %i = tile.iota : tensor<64xi32>
  %j = tile.iota : tensor<48xi32>
  %column = tile.reshape %i : tensor<64xi32> -> tensor<64x1xi32>
  %line = tile.reshape %j : tensor<48xi32> -> tensor<1x48xi32>
  %rows = tile.broadcast %line : tensor<1x48xi32> -> tensor<64x48xi32>
  %columns = tile.broadcast %column : tensor<64x1xi32> -> tensor<64x48xi32>
  %0 = tile.random %seed, %seed, %stream at %rows, %columns bits 32 rounds 7 : tensor<64x48xi32>
  return %0 : tensor<64x48xi32>
}

// A dimension of size 1 may start anywhere.
// CHECK-LABEL: @one_row
// CHECK: sm.random %{{.*}} at %c3_i32, %c0_i32 bits 8 rounds 10 : tensor<1x48xi32>
func.func @one_row(%seed: i64, %stream: i32) -> tensor<1x48xi32> {
  %j = tile.iota : tensor<48xi32>
  %rows = arith.constant dense<3> : tensor<1x48xi32>
  %columns = tile.reshape %j : tensor<48xi32> -> tensor<1x48xi32>
  %0 = tile.random %seed, %seed, %stream at %rows, %columns bits 8 rounds 10 : tensor<1x48xi32>
  return %0 : tensor<1x48xi32>
}

// CHECK-LABEL: @rows_from_anywhere
// CHECK-NOT: sm.random
// CHECK: tile.random
func.func @rows_from_anywhere(%seed: i64, %stream: i32, %first: i32) -> tensor<64x64xi32> {
  %i = tile.iota : tensor<64xi32>
  %i0 = tile.broadcast %first : i32 -> tensor<64xi32>
  %row = arith.addi %i0, %i : tensor<64xi32>
  %column = tile.reshape %row : tensor<64xi32> -> tensor<64x1xi32>
  %line = tile.reshape %i : tensor<64xi32> -> tensor<1x64xi32>
  %rows = tile.broadcast %column : tensor<64x1xi32> -> tensor<64x64xi32>
  %keys = tile.broadcast %line : tensor<1x64xi32> -> tensor<64x64xi32>
  // expected-remark @+1 {{each random number takes a call of the generator; calls are shared among the elements of a matrix whose rows and columns count up from multiples of 16}}
  %0 = tile.random %seed, %seed, %stream at %rows, %keys bits 8 rounds 10 : tensor<64x64xi32>
  return %0 : tensor<64x64xi32>
}
