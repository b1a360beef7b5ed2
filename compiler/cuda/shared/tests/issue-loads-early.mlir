// RUN: tegula-opt %s --issue-loads-early | FileCheck %s

#rows = #sm.layout<registers = [0:2:8], lanes = [*:4, 0:8:1], warps = [0:4:16]>

// The load from a read-only tensor moves before the wait, with the ops of its position. The load from a tensor that the
// program writes stays.
// CHECK-LABEL: func.func @statistics
// CHECK: scf.for %[[I:.*]] =
// CHECK-NEXT: %[[P:.*]] = arith.addi %[[I]], %{{.*}} : index
// CHECK-NEXT: tile.load %arg0[%[[P]]]
// CHECK-NEXT: sm.wait %{{.*}}
// CHECK-NEXT: tile.load %arg1[%[[I]]]
func.func @statistics(%lse: !tile.view<1xf32>, %acc: !tile.view<1xf32> {tile.written}, %n: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %copies = sm.commit
  scf.for %i = %c0 to %n step %c64 {
    sm.wait %copies
    %p = arith.addi %i, %c64 : index
    %x = tile.load %lse[%p] : !tile.view<1xf32> -> tensor<64xf32, #rows>
    %y = tile.load %acc[%i] : !tile.view<1xf32> -> tensor<64xf32, #rows>
    %z = arith.addf %x, %y : tensor<64xf32, #rows>
    tile.store %z, %acc[%i] : tensor<64xf32, #rows>, !tile.view<1xf32>
  }
  return
}

// CHECK-LABEL: func.func @dynamic
// CHECK: ^bb0(%[[I:.*]]: i32):
// CHECK-NEXT: %[[ROW:.*]] = arith.index_cast %[[I]]
// CHECK-NEXT: tile.load %{{.*}}[%[[ROW]]]
// CHECK-NEXT: sm.barrier
func.func @dynamic(%lse: !tile.view<1xf32>, %counter: !tile.view<1xi32> {tile.written}, %last: i32) {
  scf.while : () -> i32 {
    %number = tile.next_work %counter : !tile.view<1xi32>
    %more = arith.cmpi slt, %number, %last : i32
    scf.condition(%more) %number : i32
  } do {
  ^bb0(%i: i32):
    sm.barrier
    %row = arith.index_cast %i : i32 to index
    %l = tile.load %lse[%row] : !tile.view<1xf32> -> tensor<64xf32, #rows>
    scf.yield
  }
  return
}
