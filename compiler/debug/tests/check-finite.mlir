// RUN: tegula-opt --check-finite --split-input-file %s | FileCheck %s
// RUN: tegula-opt --check-finite=infinities --split-input-file %s | FileCheck %s --check-prefix=INF

// What select discards does not count: only the stored tile is tested, and only inside the view. The logarithm is the
// first op that may have made the NaN.
// CHECK-LABEL: func.func @a_stored_tile
// CHECK: %[[LOG:.*]] = math.log %[[X:.*]] :
// CHECK: %[[Y:.*]] = arith.select %{{.*}}, %[[LOG]], %[[X]]
// CHECK-NEXT: %[[NAN:.*]] = arith.cmpf uno, %[[Y]], %[[Y]]
// CHECK: tile.dim %[[OUT:.*]] 0
// CHECK: %[[ROWS:.*]] = arith.andi %[[NAN]], %{{.*}} : tensor<4x8xi1>
// CHECK: tile.dim %[[OUT]] 1
// CHECK: %[[COUNTS:.*]] = arith.andi %[[ROWS]], %{{.*}} : tensor<4x8xi1>
// CHECK: arith.select %[[COUNTS]]
// CHECK: tile.reduce add
// CHECK: %[[FOUND:.*]] = tile.any
// CHECK: scf.if %[[FOUND]] {
// CHECK: tile.reduce min
// CHECK: tile.report_element "load"[%{{.*}}, %{{.*}}] of tensor<4x8xf32> : tensor<1xi32>
// CHECK: tile.report_element "log"[%{{.*}}, %{{.*}}] of tensor<4x8xf32> : tensor<1xi32>
// CHECK: tile.report_element "select"
// CHECK-NOT: scf.if
// CHECK: tile.store %[[Y]]

// INF-LABEL: func.func @a_stored_tile
// INF: %[[SIZE:.*]] = math.absf
// INF-NEXT: arith.cmpf uge, %[[SIZE]]
// INF: tile.report_element "log"
func.func @a_stored_tile(%x: !tile.view<2xf32>, %out: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<4x8xf32>
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<4x8xf32>
  %log = math.log %a : tensor<4x8xf32>
  %positive = arith.cmpf ogt, %a, %zero : tensor<4x8xf32>
  %y = arith.select %positive, %log, %a : tensor<4x8xi1>, tensor<4x8xf32>
  tile.store %y, %out[%c0, %c0] : tensor<4x8xf32>, !tile.view<2xf32>
  return
}

// -----

// A dot reads both tiles, so both are tested at their definition, with all elements.
// CHECK-LABEL: func.func @operands_of_a_dot
// CHECK: %[[A:.*]] = tile.load
// CHECK-NOT: tile.dim
// CHECK: tile.report_element "load"[%{{.*}}, %{{.*}}] of tensor<16x16xbf16>
// CHECK: %[[D:.*]] = tile.dot
// CHECK-NEXT: arith.cmpf uno, %[[D]], %[[D]]
// CHECK: tile.report_element "dot"
// CHECK: arith.mulf
// CHECK: tile.report_element "*"
func.func @operands_of_a_dot(%x: !tile.view<2xbf16>, %out: !tile.view<1xf32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<2xbf16> -> tensor<16x16xbf16>
  %d = tile.dot %a, %a : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xf32>
  %t = tile.transpose %d [1, 0] : tensor<16x16xf32> -> tensor<16x16xf32>
  %m = arith.mulf %t, %d : tensor<16x16xf32>
  %s = tile.reduce add %m axis 1 : tensor<16x16xf32> -> tensor<16xf32>
  tile.store %s, %out[%c0] : tensor<16xf32>, !tile.view<1xf32>
  return
}

// -----

// Integers, conditions and what only a comparison reads need no test.
// CHECK-LABEL: func.func @nothing_to_test
// CHECK-NOT: tile.any
func.func @nothing_to_test(%x: !tile.view<1xf32>, %out: !tile.view<1xi32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1> : tensor<8xi32>
  %zero = arith.constant dense<0> : tensor<8xi32>
  %a = tile.load %x[%c0] : !tile.view<1xf32> -> tensor<8xf32>
  %isNan = arith.cmpf uno, %a, %a : tensor<8xf32>
  %y = arith.select %isNan, %one, %zero : tensor<8xi1>, tensor<8xi32>
  tile.store %y, %out[%c0] : tensor<8xi32>, !tile.view<1xi32>
  return
}

// -----

// Rows of the scores that no row of the store needs do not count, also through a loop and a reduction. The position of
// the store is computed again before the test. Columns are all added, so all of them count.
// CHECK-LABEL: func.func @rows_beyond_the_end
// CHECK: scf.for
// CHECK: tile.load
// CHECK: arith.cmpf uno
// CHECK: %[[ROW:.*]] = arith.muli
// CHECK: %[[SIZE:.*]] = tile.dim %{{.*}} 0
// CHECK: arith.subi %[[SIZE]], %[[ROW]]
// CHECK-NOT: tile.dim
// CHECK: tile.report_element "load"
func.func @rows_beyond_the_end(%x: !tile.view<2xf32>, %out: !tile.view<1xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %block = tile.program_id 0
  %sum = scf.for %j = %c0 to %c4 step %c4 iter_args(%old = %zero) -> (tensor<4xf32>) {
    %a = tile.load %x[%c0, %j] : !tile.view<2xf32> -> tensor<4x8xf32>
    %s = tile.reduce add %a axis 1 : tensor<4x8xf32> -> tensor<4xf32>
    %new = arith.addf %old, %s : tensor<4xf32>
    scf.yield %new : tensor<4xf32>
  }
  %row = arith.muli %block, %c4 : index
  tile.store %sum, %out[%row] : tensor<4xf32>, !tile.view<1xf32>
  return
}
