// RUN: tegula-opt %s --guard-division | FileCheck %s

// CHECK-LABEL: @signed_division
// CHECK-SAME: (%[[A:.*]]: i32, %[[B:.*]]: i32)
// CHECK: %[[BY_ZERO:.*]] = arith.cmpi eq, %[[B]], %c0_i32
// CHECK: %[[SMALLEST:.*]] = arith.cmpi eq, %[[A]], %c-2147483648_i32
// CHECK: %[[MINUS_ONE:.*]] = arith.cmpi eq, %[[B]], %c-1_i32
// CHECK: %[[OVERFLOW:.*]] = arith.andi %[[SMALLEST]], %[[MINUS_ONE]]
// CHECK: %[[UNSAFE:.*]] = arith.ori %[[BY_ZERO]], %[[OVERFLOW]]
// CHECK: %[[DIVISOR:.*]] = arith.select %[[UNSAFE]], %c1_i32, %[[B]]
// CHECK: %[[QUOTIENT:.*]] = arith.divsi %[[A]], %[[DIVISOR]]
// CHECK: %[[RESULT:.*]] = arith.select %[[BY_ZERO]], %{{.*}}, %[[QUOTIENT]]
// CHECK: return %[[RESULT]]
func.func @signed_division(%a: i32, %b: i32) -> i32 {
  %0 = arith.divsi %a, %b : i32
  return %0 : i32
}

// CHECK-LABEL: @every_signed_kind
// CHECK: %[[DIVISOR:.*]] = arith.select
// CHECK: %[[RESULT:.*]] = arith.remsi %{{.*}}, %[[DIVISOR]]
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[RESULT]]
// CHECK: %[[DIVISOR:.*]] = arith.select
// CHECK: %[[RESULT:.*]] = arith.floordivsi %{{.*}}, %[[DIVISOR]]
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[RESULT]]
// CHECK: %[[DIVISOR:.*]] = arith.select
// CHECK: %[[RESULT:.*]] = arith.ceildivsi %{{.*}}, %[[DIVISOR]]
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[RESULT]]
func.func @every_signed_kind(%a: i64, %b: i64) -> (i64, i64, i64) {
  %0 = arith.remsi %a, %b : i64
  %1 = arith.floordivsi %a, %b : i64
  %2 = arith.ceildivsi %a, %b : i64
  return %0, %1, %2 : i64, i64, i64
}

// CHECK-LABEL: @unsigned_division_cannot_overflow
// CHECK-NOT: arith.andi
// CHECK: arith.divui
// CHECK: arith.remui
// CHECK: arith.ceildivui
// CHECK-NOT: arith.andi
// CHECK: return
func.func @unsigned_division_cannot_overflow(%a: i32, %b: i32) -> (i32, i32, i32) {
  %0 = arith.divui %a, %b : i32
  %1 = arith.remui %a, %b : i32
  %2 = arith.ceildivui %a, %b : i32
  return %0, %1, %2 : i32, i32, i32
}

// CHECK-LABEL: @known_unsigned_divisors_need_no_guard
// CHECK-NOT: arith.select
// CHECK: return
func.func @known_unsigned_divisors_need_no_guard(%a: index, %b: index) -> index {
  %c1 = arith.constant 1 : index
  %positive = arith.maxsi %b, %c1 : index
  %0 = arith.divui %a, %positive : index
  return %0 : index
}

// CHECK-LABEL: @tiles_and_positions
// CHECK: arith.cmpi eq, %arg0, %{{.*}} : tensor<8xi32>
// CHECK: arith.select %{{.*}}, %{{.*}}, %arg1 : tensor<8xi1>, tensor<8xi32>
// CHECK: arith.constant -9223372036854775808 : index
func.func @tiles_and_positions(%a: tensor<8xi32>, %b: tensor<8xi32>, %i: index, %j: index) -> (tensor<8xi32>, index) {
  %0 = arith.divsi %a, %b : tensor<8xi32>
  %1 = arith.remsi %i, %j : index
  return %0, %1 : tensor<8xi32>, index
}

// CHECK-LABEL: @safe_constants_need_no_guard
// CHECK-NOT: arith.select
// CHECK: return
func.func @safe_constants_need_no_guard(%a: index, %b: tensor<2xi32>) -> (index, tensor<2xi32>) {
  %c = arith.constant 64 : index
  %0 = arith.floordivsi %a, %c : index
  %cs = arith.constant dense<[3, -7]> : tensor<2xi32>
  %1 = arith.remsi %b, %cs : tensor<2xi32>
  return %0, %1 : index, tensor<2xi32>
}

// CHECK-LABEL: @one_unsafe_element_of_a_constant_needs_a_guard
// CHECK: arith.select
// CHECK: arith.divsi
// CHECK: arith.select
func.func @one_unsafe_element_of_a_constant_needs_a_guard(%b: tensor<2xi32>) -> tensor<2xi32> {
  %cs = arith.constant dense<[3, -1]> : tensor<2xi32>
  %1 = arith.divsi %b, %cs : tensor<2xi32>
  return %1 : tensor<2xi32>
}
