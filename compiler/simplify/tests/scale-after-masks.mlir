// RUN: tegula-opt %s --scale-after-masks --canonicalize | FileCheck %s

// The factor comes after the branch. A negative one is a case of the branch, and its magnitude is at least the smallest
// normal number, so that it times -inf is no NaN.
// CHECK-LABEL: @masked(
// CHECK-SAME: %[[SCORES:arg0]]: tensor<8x8xf32>, %[[SCALE:arg1]]: f32, %[[WHOLE:arg2]]: i1, %[[MASK:arg3]]
// CHECK-DAG: %[[SMALLEST:.*]] = arith.constant 1.17549435E-38 : f32
// CHECK: %[[NEGATIVE:.*]] = arith.cmpf olt, %[[SCALE]],
// CHECK: %[[MAGNITUDE:.*]] = math.absf %[[SCALE]]
// CHECK: %[[FACTOR:.*]] = arith.select %{{.*}}, %[[SMALLEST]], %[[MAGNITUDE]]
// CHECK: %[[FAST:.*]] = arith.andi %[[WHOLE]]
// CHECK: %[[X:.*]] = scf.if %[[FAST]]
// CHECK-NEXT: scf.yield %[[SCORES]]
// CHECK: scf.if %[[NEGATIVE]]
// CHECK: arith.negf %[[SCORES]]
// CHECK: arith.select %[[MASK]]
// CHECK: %[[FACTORS:.*]] = tile.broadcast %[[FACTOR]]
// CHECK: %[[EXPONENTS:.*]] = arith.mulf %[[X]], %[[FACTORS]]
// CHECK: math.exp2 %[[EXPONENTS]]
func.func @masked(%scores: tensor<8x8xf32>, %scale: f32, %whole: i1, %mask: tensor<8x8xi1>) -> tensor<8x8xf32> {
  %hidden = arith.constant dense<0xFF800000> : tensor<8x8xf32>
  %factors = tile.broadcast %scale : f32 -> tensor<8x8xf32>
  %scaled = arith.mulf %scores, %factors : tensor<8x8xf32>
  %x = scf.if %whole -> tensor<8x8xf32> {
    scf.yield %scaled : tensor<8x8xf32>
  } else {
    %masked = arith.select %mask, %scaled, %hidden : tensor<8x8xi1>, tensor<8x8xf32>
    scf.yield %masked : tensor<8x8xf32>
  }
  %p = math.exp2 %x : tensor<8x8xf32>
  return %p : tensor<8x8xf32>
}

// Without a branch, the sign would need one.
// CHECK-LABEL: @no_branch(
// CHECK-NOT: absf
func.func @no_branch(%scores: tensor<8x8xf32>, %scale: f32, %mask: tensor<8x8xi1>) -> tensor<8x8xf32> {
  %hidden = arith.constant dense<0xFF800000> : tensor<8x8xf32>
  %factors = tile.broadcast %scale : f32 -> tensor<8x8xf32>
  %scaled = arith.mulf %scores, %factors : tensor<8x8xf32>
  %x = arith.select %mask, %scaled, %hidden : tensor<8x8xi1>, tensor<8x8xf32>
  %p = math.exp2 %x : tensor<8x8xf32>
  return %p : tensor<8x8xf32>
}

// A mask that hides with another number than -inf, and a factor that is a tile, stay as they are.
// CHECK-LABEL: @other_number(
// CHECK-NOT: absf
func.func @other_number(%scores: tensor<8x8xf32>, %scale: f32, %whole: i1, %mask: tensor<8x8xi1>) -> tensor<8x8xf32> {
  %hidden = arith.constant dense<-1.0> : tensor<8x8xf32>
  %factors = tile.broadcast %scale : f32 -> tensor<8x8xf32>
  %scaled = arith.mulf %scores, %factors : tensor<8x8xf32>
  %x = scf.if %whole -> tensor<8x8xf32> {
    scf.yield %scaled : tensor<8x8xf32>
  } else {
    %masked = arith.select %mask, %scaled, %hidden : tensor<8x8xi1>, tensor<8x8xf32>
    scf.yield %masked : tensor<8x8xf32>
  }
  %p = math.exp2 %x : tensor<8x8xf32>
  return %p : tensor<8x8xf32>
}
