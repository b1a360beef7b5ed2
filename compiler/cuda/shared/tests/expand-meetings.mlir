// RUN: tegula-opt %s --expand-meetings --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @turn
// CHECK-NEXT: sm.wait_memory_turn %arg1[%[[I:.*]]] until %[[N:.*]] : !tile.view<1xi32>
// CHECK-NEXT: sm.barrier{{$}}
// CHECK-NEXT: tile.atomic_add %{{.*}}, %arg0[%[[I]], %[[I]]] : tensor<64x64xf32>, !tile.view<2xf32>
// CHECK-NEXT: sm.barrier{{$}}
// CHECK-NEXT: sm.pass_memory_turn %arg1[%[[I]]] next %[[M:.*]] : !tile.view<1xi32>
// An addition without a turn stays as it is.
// CHECK-NEXT: tile.atomic_add
// CHECK-NEXT: return
func.func @turn(%sum: !tile.view<2xf32>, %turns: !tile.view<1xi32>, %x: tensor<64x64xf32>, %i: index, %n: i32, %m: i32) {
  tile.atomic_add %x, %sum[%i, %i] turn %n of %turns[%i] next %m
    : tensor<64x64xf32>, !tile.view<2xf32>, !tile.view<1xi32>
  tile.atomic_add %x, %sum[%i, %i] : tensor<64x64xf32>, !tile.view<2xf32>
  return
}

// One thread draws the work index for all, between two barriers. The others then read the word that it has written.
// CHECK-LABEL: func.func @work
// CHECK: scf.while
// CHECK-NEXT: sm.barrier{{$}}
// CHECK-NEXT: sm.draw_work %arg0 : !tile.view<1xi32>
// CHECK-NEXT: sm.barrier{{$}}
// CHECK-NEXT: %[[N:.*]] = sm.read_word : i32
// CHECK-NEXT: %[[MORE:.*]] = arith.cmpi slt, %[[N]], %arg1 : i32
// CHECK-NEXT: scf.condition(%[[MORE]]) %[[N]] : i32
func.func @work(%counter: !tile.view<1xi32>, %last: i32) {
  scf.while : () -> i32 {
    %number = tile.next_work %counter : !tile.view<1xi32>
    %more = arith.cmpi slt, %number, %last : i32
    scf.condition(%more) %number : i32
  } do {
  ^bb0(%number: i32):
    scf.yield
  }
  return
}

// CHECK-LABEL: func.func @arrival
// CHECK-NEXT: sm.barrier{{$}}
// CHECK-NEXT: sm.arrive %arg0[%arg1] of %arg2 : !tile.view<1xi32>
// CHECK-NEXT: sm.barrier{{$}}
// CHECK-NEXT: %[[WORD:.*]] = sm.read_word : i32
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-NEXT: %[[LAST:.*]] = arith.cmpi ne, %[[WORD]], %[[ZERO]] : i32
// CHECK-NEXT: scf.if %[[LAST]]
func.func @arrival(%counters: !tile.view<1xi32>, %i: index, %count: i32, %y: !tile.view<1xf32>, %x: tensor<64xf32>) {
  %last = tile.arrive %counters[%i] of %count : !tile.view<1xi32>
  scf.if %last {
    tile.store %x, %y[%i] : tensor<64xf32>, !tile.view<1xf32>
  }
  return
}
