// RUN: tegula-opt %s --take-turns --split-input-file | FileCheck %s

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
