// RUN: tegula-opt --defer-reductions --split-input-file %s | FileCheck %s

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:4:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#rows = #sm.layout<registers = [0:2:8], lanes = [*:4, 0:8:1], warps = [0:4:16]>

// Four lanes share a row, and the condition tests the partial maximum of each. The whole maximum moves to the branch
// that needs it.
// CHECK-DAG: #[[PARTS:.*]] = #sm.layout<registers = [0:2:8], lanes = [1:4:1, 0:8:1], warps = [0:4:16]>
// CHECK-LABEL: func @condition
// CHECK-SAME: (%[[S:.*]]: tensor<64x32xf32, {{.*}}>, %[[M:.*]]: tensor<64xf32, {{.*}}>)
// CHECK-NOT: tile.reduce
// CHECK: %[[P:.*]] = sm.partial_reduce max %[[S]] axis 1 : {{.*}} -> tensor<64x4xf32, #[[PARTS]]>
// CHECK: %[[COLUMN:.*]] = tile.reshape %[[M]]
// CHECK: %[[MS:.*]] = tile.broadcast %[[COLUMN]] : {{.*}} -> tensor<64x4xf32, #[[PARTS]]>
// CHECK: %[[EXCEEDS:.*]] = arith.cmpf ogt, %[[P]], %[[MS]]
// CHECK: %[[ANY:.*]] = tile.any %[[EXCEEDS]] : tensor<64x4xi1, #[[PARTS]]>
// CHECK: scf.if %[[ANY]]
// CHECK: %[[MAX:.*]] = tile.reduce max %[[P]] axis 1
// CHECK: %[[WHERE:.*]] = arith.cmpf ogt, %[[MAX]], %[[M]]
// CHECK: arith.select %[[WHERE]], %[[MAX]], %[[M]]
func.func @condition(%s: tensor<64x32xf32, #c>, %m: tensor<64xf32, #rows>) -> tensor<64xf32, #rows> {
  %max = tile.reduce max %s axis 1 : tensor<64x32xf32, #c> -> tensor<64xf32, #rows>
  %exceeds = arith.cmpf ogt, %max, %m : tensor<64xf32, #rows>
  %any = tile.any %exceeds : tensor<64xi1, #rows>
  %new = scf.if %any -> tensor<64xf32, #rows> {
    %raised = arith.select %exceeds, %max, %m : tensor<64xi1, #rows>, tensor<64xf32, #rows>
    scf.yield %raised : tensor<64xf32, #rows>
  } else {
    scf.yield %m : tensor<64xf32, #rows>
  }
  return %new : tensor<64xf32, #rows>
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:4:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#rows = #sm.layout<registers = [0:2:8], lanes = [*:4, 0:8:1], warps = [0:4:16]>

// The same happens if only the condition, outside the branch, computes with the maximum.
// CHECK-LABEL: func @condition_of_its_own
// CHECK-NOT: tile.reduce
// CHECK: scf.if
// CHECK: tile.reduce max
func.func @condition_of_its_own(%s: tensor<64x32xf32, #c>, %m: tensor<64xf32, #rows>) -> tensor<64xf32, #rows> {
  %max = tile.reduce max %s axis 1 : tensor<64x32xf32, #c> -> tensor<64xf32, #rows>
  %double = arith.addf %max, %max : tensor<64xf32, #rows>
  %exceeds = arith.cmpf ogt, %double, %m : tensor<64xf32, #rows>
  %any = tile.any %exceeds : tensor<64xi1, #rows>
  %new = scf.if %any -> tensor<64xf32, #rows> {
    scf.yield %max : tensor<64xf32, #rows>
  } else {
    scf.yield %m : tensor<64xf32, #rows>
  }
  return %new : tensor<64xf32, #rows>
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:4:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#rows = #sm.layout<registers = [0:2:8], lanes = [*:4, 0:8:1], warps = [0:4:16]>

// The loop carries a partial sum for each lane of a row.
// CHECK-LABEL: func @sum
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<64x4xf32
// CHECK: %[[SUMS:.*]] = scf.for {{.*}} iter_args(%[[L:.*]] = %[[ZERO]]) -> (tensor<64x4xf32
// CHECK: %[[ALPHAS:.*]] = tile.broadcast {{.*}} -> tensor<64x4xf32
// CHECK: %[[SCALED:.*]] = arith.mulf %[[L]], %[[ALPHAS]]
// CHECK: %[[PART:.*]] = sm.partial_reduce add
// CHECK: %[[NEXT:.*]] = arith.addf %[[SCALED]], %[[PART]]
// CHECK: scf.yield %[[NEXT]]
// CHECK: tile.reduce add %[[SUMS]] axis 1
func.func @sum(%p: tensor<64x32xf32, #c>, %alpha: tensor<64xf32, #rows>, %n: index) -> tensor<64xf32, #rows> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64xf32, #rows>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%l = %zero) -> tensor<64xf32, #rows> {
    %scaled = arith.mulf %l, %alpha : tensor<64xf32, #rows>
    %block = tile.reduce add %p axis 1 : tensor<64x32xf32, #c> -> tensor<64xf32, #rows>
    %next = arith.addf %scaled, %block : tensor<64xf32, #rows>
    scf.yield %next : tensor<64xf32, #rows>
  }
  return %sum : tensor<64xf32, #rows>
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:4:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#rows = #sm.layout<registers = [0:2:8], lanes = [*:4, 0:8:1], warps = [0:4:16]>

// A store in the loop reads the sum, so the loop carries the whole sum.
// CHECK-LABEL: func @sum_that_is_read
// CHECK-NOT: sm.partial_reduce
func.func @sum_that_is_read(%p: tensor<64x32xf32, #c>, %out: !tile.view<1xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64xf32, #rows>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%l = %zero) -> tensor<64xf32, #rows> {
    tile.store %l, %out[%i] : tensor<64xf32, #rows>, !tile.view<1xf32>
    %block = tile.reduce add %p axis 1 : tensor<64x32xf32, #c> -> tensor<64xf32, #rows>
    %next = arith.addf %l, %block : tensor<64xf32, #rows>
    scf.yield %next : tensor<64xf32, #rows>
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:4:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#rows = #sm.layout<registers = [0:2:8], lanes = [*:4, 0:8:1], warps = [0:4:16]>

// A branch may yield what is added. A test whether the sum is above a limit becomes a test of each of the four partial
// sums with a quarter of the limit.
// CHECK-LABEL: func @sum_of_a_branch
// CHECK: scf.for {{.*}} iter_args(%[[L:.*]] = %{{.*}})
// CHECK-NOT: tile.reduce
// CHECK: %[[PARTS:.*]] = sm.partial_reduce add %{{.*}} axis 1 : {{.*}} -> tensor<64x4xf32,
// CHECK: %[[QUARTER:.*]] = arith.constant dense<2.000000e+00> : tensor<64x4xf32,
// CHECK: %[[ABOVE:.*]] = arith.cmpf ugt, %[[PARTS]], %[[QUARTER]] : tensor<64x4xf32,
// CHECK: %[[ANY:.*]] = tile.any %[[ABOVE]] : tensor<64x4xi1,
// CHECK: %[[ADDED:.*]] = scf.if %[[ANY]]
// CHECK: %[[AGAIN:.*]] = sm.partial_reduce add
// CHECK: scf.yield %[[AGAIN]]
// CHECK: scf.yield %[[PARTS]]
// CHECK: arith.addf %[[L]], %[[ADDED]] : tensor<64x4xf32,
// CHECK: tile.reduce add
func.func @sum_of_a_branch(%n: index, %p: tensor<64x32xf32, #c>, %q: tensor<64x32xf32, #c>) -> tensor<64xf32, #rows> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64xf32, #rows>
  %limit = arith.constant dense<8.0> : tensor<64xf32, #rows>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%l = %zero) -> tensor<64xf32, #rows> {
    %first = tile.reduce add %p axis 1 : tensor<64x32xf32, #c> -> tensor<64xf32, #rows>
    %above = arith.cmpf ugt, %first, %limit : tensor<64xf32, #rows>
    %any = tile.any %above : tensor<64xi1, #rows>
    %added = scf.if %any -> tensor<64xf32, #rows> {
      %again = tile.reduce add %q axis 1 : tensor<64x32xf32, #c> -> tensor<64xf32, #rows>
      scf.yield %again : tensor<64xf32, #rows>
    } else {
      scf.yield %first : tensor<64xf32, #rows>
    }
    %new = arith.addf %l, %added : tensor<64xf32, #rows>
    scf.yield %new : tensor<64xf32, #rows>
  }
  return %sum : tensor<64xf32, #rows>
}
