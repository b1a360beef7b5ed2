// RUN: tegula-opt %s --guard-loops | FileCheck %s

// A step of 32 bits keeps positions far from the ends of 64 bits, but may not be positive.
// CHECK-LABEL: @unknown_step
// CHECK-SAME: (%[[VIEW:.*]]: !tile.view<1xi32>, %[[N:.*]]: i32)
// CHECK: %[[END:.*]] = tile.dim
// CHECK: %[[STEP:.*]] = arith.index_cast %[[N]]
// CHECK: %[[POSITIVE:.*]] = arith.cmpi sge, %[[STEP]], %{{.*}} : index
// CHECK: %[[NEW_END:.*]] = arith.select %[[POSITIVE]], %[[END]], %c0
// CHECK: %[[NEW_STEP:.*]] = arith.maxsi %[[STEP]], %{{.*}} : index
// CHECK: scf.for %[[I:.*]] = %c0 to %[[NEW_END]] step %[[NEW_STEP]]
// CHECK-NEXT: tile.load %{{.*}}[%[[I]]]
func.func @unknown_step(%view: !tile.view<1xi32>, %n: i32) {
  %c0 = arith.constant 0 : index
  %end = tile.dim %view 0 : !tile.view<1xi32>
  %step = arith.index_cast %n : i32 to index
  scf.for %i = %c0 to %end step %step {
    %x = tile.load %view[%i] : !tile.view<1xi32> -> tensor<4xi32>
    tile.store %x, %view[%i] : tensor<4xi32>, !tile.view<1xi32>
  }
  return
}

// CHECK-LABEL: @unknown_end
// CHECK-SAME: %[[N:[a-z0-9]+]]: i64)
// CHECK: %[[END:.*]] = arith.index_cast %[[N]]
// CHECK: %[[RUNS:.*]] = arith.cmpi slt, %c0, %[[END]] : index
// CHECK: %[[DISTANCE:.*]] = arith.subi %[[END]], %c0
// CHECK: %[[LAST:.*]] = arith.subi %[[DISTANCE]], %[[ONE:.*]] : index
// CHECK: %[[STEPS:.*]] = arith.divui %[[LAST]], %c64
// CHECK: %[[COUNT:.*]] = arith.addi %[[STEPS]], %[[ONE]]
// CHECK: %[[LIMITED:.*]] = arith.minui %[[COUNT]], %{{.*}} : index
// CHECK: %[[ITERATIONS:.*]] = arith.select %[[RUNS]], %[[LIMITED]], %[[ZERO:.*]] : index
// CHECK: scf.for %[[K:.*]] = %[[ZERO]] to %[[ITERATIONS]] step %[[ONE]]
// CHECK-NEXT: %[[FAR:.*]] = arith.muli %[[K]], %c64
// CHECK-NEXT: %[[I:.*]] = arith.addi %c0, %[[FAR]]
// CHECK-NEXT: tile.load %{{.*}}[%[[I]]]
func.func @unknown_end(%view: !tile.view<1xi32>, %n: i64) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %end = arith.index_cast %n : i64 to index
  scf.for %i = %c0 to %end step %c64 {
    %x = tile.load %view[%i] : !tile.view<1xi32> -> tensor<4xi32>
    tile.store %x, %view[%i] : tensor<4xi32>, !tile.view<1xi32>
  }
  return
}

// CHECK-LABEL: @known_loops_stay
// CHECK-NOT: arith.select
// CHECK-NOT: arith.divui
// CHECK: return
func.func @known_loops_stay(%view: !tile.view<2xi32>, %bounds: !tile.view<1xi32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %end = tile.dim %view 0 : !tile.view<2xi32>
  %first = tile.program_id 0
  %programs = tile.num_programs 0
  scf.for %i = %first to %end step %programs {
    %begin = arith.muli %i, %c64 : index
    %gathered = tile.gather %bounds[%i] : !tile.view<1xi32>, index -> i32
    %limit = arith.index_cast %gathered : i32 to index
    %last = arith.minsi %limit, %end : index
    scf.for %j = %begin to %last step %c64 {
      %x = tile.load %view[%i, %j] : !tile.view<2xi32> -> tensor<1x64xi32>
      tile.store %x, %view[%i, %j] : tensor<1x64xi32>, !tile.view<2xi32>
    }
  }
  return
}

// The position of the outer loop may be any number.
// CHECK-LABEL: @inner_loops_count_too
// CHECK: arith.divui
// CHECK: scf.for
// CHECK: arith.divui
// CHECK: scf.for
func.func @inner_loops_count_too(%view: !tile.view<1xi32>, %n: i64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.index_cast %n : i64 to index
  scf.for %i = %c0 to %end step %c1 {
    scf.for %j = %i to %end step %c1 {
      %x = tile.load %view[%j] : !tile.view<1xi32> -> tensor<4xi32>
      tile.store %x, %view[%i] : tensor<4xi32>, !tile.view<1xi32>
    }
  }
  return
}
