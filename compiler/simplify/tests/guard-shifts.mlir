// RUN: tegula-opt %s --guard-shifts | FileCheck %s

// CHECK-LABEL: @left
// CHECK-SAME: (%[[X:.*]]: i32, %[[COUNT:.*]]: i32)
// CHECK: %[[WITHIN:.*]] = arith.cmpi ult, %[[COUNT]], %c32_i32
// CHECK: %[[SHIFTED:.*]] = arith.shli %[[X]], %[[COUNT]]
// CHECK: %[[RESULT:.*]] = arith.select %[[WITHIN]], %[[SHIFTED]], %c0_i32
// CHECK: return %[[RESULT]]
func.func @left(%x: i32, %count: i32) -> i32 {
  %0 = arith.shli %x, %count : i32
  return %0 : i32
}

// CHECK-LABEL: @right
// CHECK-SAME: (%[[X:.*]]: i64, %[[COUNT:.*]]: i64)
// CHECK: %[[LIMITED:.*]] = arith.minui %[[COUNT]], %c63_i64
// CHECK: %[[RESULT:.*]] = arith.shrsi %[[X]], %[[LIMITED]]
// CHECK: return %[[RESULT]]
func.func @right(%x: i64, %count: i64) -> i64 {
  %0 = arith.shrsi %x, %count : i64
  return %0 : i64
}

// CHECK-LABEL: @unsigned_right
// CHECK: arith.cmpi ult
// CHECK: arith.shrui
// CHECK: arith.select
func.func @unsigned_right(%x: i32, %count: i32) -> i32 {
  %0 = arith.shrui %x, %count : i32
  return %0 : i32
}

// CHECK-LABEL: @tiles_and_positions
// CHECK: arith.minui %arg1, %{{.*}} : tensor<8xi32>
// CHECK: arith.constant 64 : index
// CHECK: arith.select
func.func @tiles_and_positions(%x: tensor<8xi32>, %count: tensor<8xi32>, %i: index, %j: index)
    -> (tensor<8xi32>, index) {
  %0 = arith.shrsi %x, %count : tensor<8xi32>
  %1 = arith.shli %i, %j : index
  return %0, %1 : tensor<8xi32>, index
}

// CHECK-LABEL: @known_counts_need_no_guard
// CHECK-NOT: arith.select
// CHECK-NOT: arith.minui
// CHECK: return
func.func @known_counts_need_no_guard(%x: tensor<16x4xi32>, %n: i32) -> (tensor<16x4xi32>, tensor<16x4xi32>, i32) {
  %iota = tile.iota : tensor<16xi32>
  %column = tile.reshape %iota : tensor<16xi32> -> tensor<16x1xi32>
  %counts = tile.broadcast %column : tensor<16x1xi32> -> tensor<16x4xi32>
  %0 = arith.shli %x, %counts : tensor<16x4xi32>
  %c31 = arith.constant 31 : i32
  %masked = arith.andi %n, %c31 : i32
  %same = tile.broadcast %masked : i32 -> tensor<16x4xi32>
  %1 = arith.shrsi %x, %same : tensor<16x4xi32>
  %2 = arith.shli %n, %c31 : i32
  return %0, %1, %2 : tensor<16x4xi32>, tensor<16x4xi32>, i32
}

// CHECK-LABEL: @constants_out_of_range_need_a_guard
// CHECK: arith.select
// CHECK: arith.minui
func.func @constants_out_of_range_need_a_guard(%x: tensor<2xi32>, %y: i32) -> (tensor<2xi32>, i32) {
  %counts = arith.constant dense<[3, 32]> : tensor<2xi32>
  %0 = arith.shli %x, %counts : tensor<2xi32>
  %negative = arith.constant -1 : i32
  %1 = arith.shrsi %y, %negative : i32
  return %0, %1 : tensor<2xi32>, i32
}
