// RUN: tegula-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @transpose_of_transpose_is_the_source
// CHECK-NEXT: return %arg0
func.func @transpose_of_transpose_is_the_source(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tile.transpose %x [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %1 = tile.transpose %0 [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: @transpose_of_transpose_is_one_permutation
// CHECK-NEXT: tile.transpose %arg0 [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
// CHECK-NEXT: return
func.func @transpose_of_transpose_is_one_permutation(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %0 = tile.transpose %x [0, 2, 1] : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
  %1 = tile.transpose %0 [1, 0, 2] : tensor<2x4x3xf32> -> tensor<4x2x3xf32>
  return %1 : tensor<4x2x3xf32>
}

// CHECK-LABEL: @transpose_of_a_splat_is_a_splat
// CHECK-NEXT: arith.constant dense<2.000000e+00> : tensor<8x4xf32>
// CHECK-NEXT: return
func.func @transpose_of_a_splat_is_a_splat() -> tensor<8x4xf32> {
  %x = arith.constant dense<2.0> : tensor<4x8xf32>
  %0 = tile.transpose %x [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// CHECK-LABEL: @reshape_to_the_same_shape_is_nothing
// CHECK-NEXT: return %arg0
func.func @reshape_to_the_same_shape_is_nothing(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tile.reshape %x : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: @reshape_and_back_is_nothing
// CHECK-NEXT: return %arg0
func.func @reshape_and_back_is_nothing(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = tile.reshape %x : tensor<8xf32> -> tensor<8x1xf32>
  %1 = tile.reshape %0 : tensor<8x1xf32> -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK-LABEL: @reshape_of_reshape_is_one_reshape
// CHECK-NEXT: tile.reshape %arg0 : tensor<8xf32> -> tensor<2x4xf32>
// CHECK-NEXT: return
func.func @reshape_of_reshape_is_one_reshape(%x: tensor<8xf32>) -> tensor<2x4xf32> {
  %0 = tile.reshape %x : tensor<8xf32> -> tensor<4x2xf32>
  %1 = tile.reshape %0 : tensor<4x2xf32> -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// CHECK-LABEL: @reshape_of_a_constant_is_a_constant
// CHECK-NEXT: arith.constant dense<{{\[\[}}1, 2], [3, 4]]> : tensor<2x2xi32>
// CHECK-NEXT: return
func.func @reshape_of_a_constant_is_a_constant() -> tensor<2x2xi32> {
  %x = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %0 = tile.reshape %x : tensor<4xi32> -> tensor<2x2xi32>
  return %0 : tensor<2x2xi32>
}

// CHECK-LABEL: @broadcast_to_the_same_shape_is_nothing
// CHECK-NEXT: return %arg0
func.func @broadcast_to_the_same_shape_is_nothing(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tile.broadcast %x : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: @broadcast_of_broadcast_is_one_broadcast
// CHECK-NEXT: tile.broadcast %arg0 : f32 -> tensor<4x8xf32>
// CHECK-NEXT: return
func.func @broadcast_of_broadcast_is_one_broadcast(%x: f32) -> tensor<4x8xf32> {
  %0 = tile.broadcast %x : f32 -> tensor<4x1xf32>
  %1 = tile.broadcast %0 : tensor<4x1xf32> -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: @broadcast_of_a_constant_is_a_constant
// CHECK-DAG: arith.constant dense<2.000000e+00> : tensor<4x8xf32>
// CHECK-DAG: arith.constant dense<7> : tensor<4xindex>
// CHECK-DAG: arith.constant dense<true> : tensor<4xi1>
// CHECK-NOT: tile.broadcast
func.func @broadcast_of_a_constant_is_a_constant() -> (tensor<4x8xf32>, tensor<4xindex>, tensor<4xi1>) {
  %x = arith.constant dense<2.0> : tensor<4x1xf32>
  %0 = tile.broadcast %x : tensor<4x1xf32> -> tensor<4x8xf32>
  %i = arith.constant 7 : index
  %1 = tile.broadcast %i : index -> tensor<4xindex>
  %c = arith.constant true
  %2 = tile.broadcast %c : i1 -> tensor<4xi1>
  return %0, %1, %2 : tensor<4x8xf32>, tensor<4xindex>, tensor<4xi1>
}

// CHECK-LABEL: @broadcast_of_a_column_of_different_constants_stays
// CHECK: tile.broadcast
func.func @broadcast_of_a_column_of_different_constants_stays() -> tensor<2x8xi32> {
  %x = arith.constant dense<[[1], [2]]> : tensor<2x1xi32>
  %0 = tile.broadcast %x : tensor<2x1xi32> -> tensor<2x8xi32>
  return %0 : tensor<2x8xi32>
}

// CHECK-LABEL: @dot_reads_the_source_of_a_transpose
// CHECK-NEXT: tile.dot %arg0, %arg1 {transpose_rhs} : tensor<4x8xf32>, tensor<2x8xf32> -> tensor<4x2xf32>
// CHECK-NEXT: return
func.func @dot_reads_the_source_of_a_transpose(%a: tensor<4x8xf32>, %b: tensor<2x8xf32>) -> tensor<4x2xf32> {
  %0 = tile.transpose %b [1, 0] : tensor<2x8xf32> -> tensor<8x2xf32>
  %1 = tile.dot %a, %0 : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// CHECK-LABEL: @two_transposes_of_an_operand_cancel
// CHECK-NEXT: tile.dot %arg0, %arg0 {transpose_lhs} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
// CHECK-NEXT: return
func.func @two_transposes_of_an_operand_cancel(%a: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %0 = tile.transpose %a [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %1 = tile.dot %0, %0 {transpose_rhs} : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// CHECK-LABEL: @a_sum_that_starts_at_zero_needs_no_acc
// CHECK-NEXT: tile.dot %arg0, %arg0 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
// CHECK-NEXT: return
func.func @a_sum_that_starts_at_zero_needs_no_acc(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x4xf32>
  %0 = tile.dot %a, %a acc %zero : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// CHECK-LABEL: @some_condition_of_constants
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-DAG: %[[TRUE:.*]] = arith.constant true
// CHECK-DAG: %[[FALSE:.*]] = arith.constant false
// CHECK: %[[UNKNOWN:.*]] = tile.any
// CHECK-NEXT: return %[[TRUE]], %[[FALSE]], %[[TRUE]], %[[FALSE]], %[[UNKNOWN]]
func.func @some_condition_of_constants(%x: tensor<4xf32>) -> (i1, i1, i1, i1, i1) {
  %minus_inf = arith.constant dense<0xFF800000> : tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %holds = arith.cmpf ogt, %zero, %minus_inf : tensor<4xf32>
  %fails = arith.cmpf ogt, %minus_inf, %zero : tensor<4xf32>
  %depends = arith.cmpf ogt, %x, %zero : tensor<4xf32>
  %or = arith.ori %depends, %holds : tensor<4xi1>
  %and = arith.andi %fails, %depends : tensor<4xi1>
  %both = arith.andi %holds, %depends : tensor<4xi1>
  %0 = tile.any %holds : tensor<4xi1>
  %1 = tile.any %fails : tensor<4xi1>
  %2 = tile.any %or : tensor<4xi1>
  %3 = tile.any %and : tensor<4xi1>
  %4 = tile.any %both : tensor<4xi1>
  return %0, %1, %2, %3, %4 : i1, i1, i1, i1, i1
}

// CHECK-LABEL: func.func @columns
// CHECK-SAME: (%[[X:.*]]: tensor<4x16xf32>, %[[Y:.*]]: tensor<4x8xf32>)
// CHECK-NEXT: %[[SOME:.*]] = tile.columns %[[X]] from 5 step 4 : tensor<4x16xf32> -> tensor<4x3xf32>
// CHECK-NEXT: return %[[X]], %[[Y]], %[[Y]], %[[SOME]]
func.func @columns(%x: tensor<4x16xf32>, %y: tensor<4x8xf32>)
    -> (tensor<4x16xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x3xf32>) {
  %all = tile.columns %x from 0 step 1 : tensor<4x16xf32> -> tensor<4x16xf32>
  %joined = tile.join %x, %y : tensor<4x16xf32>, tensor<4x8xf32> -> tensor<4x24xf32>
  %right = tile.columns %joined from 16 step 1 : tensor<4x24xf32> -> tensor<4x8xf32>
  %pairs = tile.join %y, %y {interleave} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x16xf32>
  %odd = tile.columns %pairs from 1 step 2 : tensor<4x16xf32> -> tensor<4x8xf32>
  %once = tile.columns %x from 1 step 2 : tensor<4x16xf32> -> tensor<4x8xf32>
  %twice = tile.columns %once from 2 step 2 : tensor<4x8xf32> -> tensor<4x3xf32>
  return %all, %right, %odd, %twice : tensor<4x16xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x3xf32>
}
