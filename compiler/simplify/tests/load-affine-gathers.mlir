// RUN: tegula-opt %s --load-affine-gathers --canonicalize --cse | FileCheck %s

// Rows and keys start at scalars of any integer type and count up.

// CHECK-LABEL: @bias
// CHECK-SAME: (%[[BIAS:.*]]: !tile.view<2xbf16>, %[[ROW:.*]]: index, %[[KEY:.*]]: i32)
// CHECK: %[[FIRST_KEY:.*]] = arith.index_cast %[[KEY]] : i32 to index
// CHECK: %[[LOAD:.*]] = tile.load %[[BIAS]][%[[ROW]], %{{.*}}] : !tile.view<2xbf16> -> tensor<64x32xbf16>
// CHECK-NOT: tile.gather
// CHECK: return %[[LOAD]]
func.func @bias(%bias: !tile.view<2xbf16>, %row: index, %key: i32) -> tensor<64x32xbf16> {
  %three = arith.constant dense<3> : tensor<32xi32>
  %row32 = arith.index_cast %row : index to i32
  %first_row = tile.broadcast %row32 : i32 -> tensor<64xi32>
  %i = tile.iota : tensor<64xi32>
  %rows = arith.addi %first_row, %i : tensor<64xi32>
  %column = tile.reshape %rows : tensor<64xi32> -> tensor<64x1xi32>
  %first_key = tile.broadcast %key : i32 -> tensor<32xi32>
  %j = tile.iota : tensor<32xi32>
  %shifted = arith.addi %first_key, %three : tensor<32xi32>
  %keys = arith.addi %shifted, %j : tensor<32xi32>
  %line = tile.reshape %keys : tensor<32xi32> -> tensor<1x32xi32>
  %a = tile.broadcast %column : tensor<64x1xi32> -> tensor<64x32xi32>
  %b = tile.broadcast %line : tensor<1x32xi32> -> tensor<64x32xi32>
  %0 = tile.gather %bias[%a, %b] : !tile.view<2xbf16>, tensor<64x32xi32>, tensor<64x32xi32> -> tensor<64x32xbf16>
  return %0 : tensor<64x32xbf16>
}

// CHECK-LABEL: @vector
// CHECK: tile.load %arg0[%arg1] : !tile.view<1xf32> -> tensor<64xf32>
func.func @vector(%x: !tile.view<1xf32>, %first: index) -> tensor<64xf32> {
  %firsts = tile.broadcast %first : index -> tensor<64xindex>
  %i = tile.iota : tensor<64xindex>
  %at = arith.addi %firsts, %i : tensor<64xindex>
  %0 = tile.gather %x[%at] : !tile.view<1xf32>, tensor<64xindex> -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// These are no rectangles: a transpose, every other element, a diagonal, positions from memory, and one element.

// CHECK-LABEL: @others_stay
// CHECK-NOT: tile.load
// CHECK-COUNT-5: tile.gather
func.func @others_stay(%x: !tile.view<2xf32>, %y: !tile.view<1xf32>, %places: tensor<16xi32>, %n: index)
    -> (tensor<16x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>, f32) {
  %i = tile.iota : tensor<16xi32>
  %column = tile.reshape %i : tensor<16xi32> -> tensor<16x1xi32>
  %line = tile.reshape %i : tensor<16xi32> -> tensor<1x16xi32>
  %down = tile.broadcast %column : tensor<16x1xi32> -> tensor<16x16xi32>
  %right = tile.broadcast %line : tensor<1x16xi32> -> tensor<16x16xi32>
  %turned = tile.gather %x[%right, %down] : !tile.view<2xf32>, tensor<16x16xi32>, tensor<16x16xi32> -> tensor<16x16xf32>
  %twice = arith.addi %i, %i : tensor<16xi32>
  %even = tile.gather %y[%twice] : !tile.view<1xf32>, tensor<16xi32> -> tensor<16xf32>
  %sum = arith.addi %down, %right : tensor<16x16xi32>
  %diagonal = tile.gather %x[%down, %sum] : !tile.view<2xf32>, tensor<16x16xi32>, tensor<16x16xi32> -> tensor<16x16xf32>
  %read = tile.gather %y[%places] : !tile.view<1xf32>, tensor<16xi32> -> tensor<16xf32>
  %one = tile.gather %y[%n] : !tile.view<1xf32>, index -> f32
  return %turned, %even, %diagonal, %read, %one : tensor<16x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>, f32
}
