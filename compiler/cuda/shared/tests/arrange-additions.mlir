// RUN: tegula-opt %s --arrange-additions --split-input-file | FileCheck %s

#acc = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// The addition moves past the MMAs that do not read the memory it changes, but not past a barrier.
// CHECK-LABEL: func.func @additions
// CHECK: %[[X:.*]] = sm.mma
// CHECK-NEXT: sm.mma
// CHECK-NEXT: arith.addf
// CHECK-NEXT: sm.mma
// CHECK-NEXT: tile.atomic_add %[[X]],
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: sm.mma
func.func @additions(%a: !sm.shared<64x64xbf16, 128>, %sum: !tile.view<2xf32>, %i: index)
    -> (tensor<64x64xf32, #acc>, tensor<64x64xf32, #acc>) {
  %x = sm.mma %a, %a depth 64 : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> tensor<64x64xf32, #acc>
  tile.atomic_add %x, %sum[%i, %i] : tensor<64x64xf32, #acc>, !tile.view<2xf32>
  %y = sm.mma %a, %a depth 64 : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> tensor<64x64xf32, #acc>
  %twice = arith.addf %y, %y : tensor<64x64xf32, #acc>
  %z = sm.mma %a, %a depth 64 acc %twice : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #acc> -> tensor<64x64xf32, #acc>
  sm.barrier
  %last = sm.mma %a, %a depth 64 : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> tensor<64x64xf32, #acc>
  return %z, %last : tensor<64x64xf32, #acc>, tensor<64x64xf32, #acc>
}

// -----

#dq = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8, 0:2:16], lanes = [1:4:2, 0:8:1], warps = [0:2:32, 1:4:64]>
#dk = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8, 0:3:16], lanes = [1:4:2, 0:8:1], warps = [0:2:48, 1:4:64]>

// 192 registers are in use, so a result of 64 registers is computed and added in two parts, which have its label.
// CHECK-DAG: #[[HALF:.*]] = #sm.layout<registers = [1:2:1, 0:2:8, 1:4:8, 0:2:16], lanes = [1:4:2, 0:8:1], warps = [0:2:32, 1:4:32]>
// CHECK-LABEL: func.func @parts
// CHECK: %[[K:.*]] = sm.columns %arg1 from 0 : !sm.shared<96x256xbf16, 128> -> !sm.shared<96x128xbf16, 128>
// CHECK: %[[X:.*]] = sm.mma %arg0, %[[K]] depth 96 {tile.label = "dq"} : {{.*}} -> tensor<64x128xf32, #[[HALF]]>
// CHECK: tile.atomic_add %[[X]], %{{.*}}[%[[I:.*]], %c0]
// CHECK: %[[K1:.*]] = sm.columns %arg1 from 128
// CHECK: %[[Y:.*]] = sm.mma %arg0, %[[K1]] depth 96 {tile.label = "dq"} :
// CHECK: tile.atomic_add %[[Y]], %{{.*}}[%[[I]], %c128
// CHECK: sm.mma
// CHECK-NOT: atomic_add
func.func @parts(%ds: !sm.shared<64x96xbf16, 64>, %k: !sm.shared<96x256xbf16, 128>, %q: !sm.shared<64x256xbf16, 128>,
                 %sum: !tile.view<2xf32>, %i: index) -> (tensor<96x256xf32, #dk>, tensor<96x256xf32, #dk>) {
  %c0 = arith.constant 0 : index
  %x = sm.mma %ds, %k depth 96 {tile.label = "dq"}
    : !sm.shared<64x96xbf16, 64>, !sm.shared<96x256xbf16, 128> -> tensor<64x256xf32, #dq>
  tile.atomic_add %x, %sum[%i, %c0] : tensor<64x256xf32, #dq>, !tile.view<2xf32>
  %y = sm.mma %ds, %q depth 64 {transpose_lhs} : !sm.shared<64x96xbf16, 64>, !sm.shared<64x256xbf16, 128> -> tensor<96x256xf32, #dk>
  %z = sm.mma %ds, %q depth 64 {transpose_lhs} : !sm.shared<64x96xbf16, 64>, !sm.shared<64x256xbf16, 128> -> tensor<96x256xf32, #dk>
  return %y, %z : tensor<96x256xf32, #dk>, tensor<96x256xf32, #dk>
}

// -----

#dq = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8, 0:2:16], lanes = [1:4:2, 0:8:1], warps = [0:2:32, 1:4:64]>
#dk = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8, 0:3:16], lanes = [1:4:2, 0:8:1], warps = [0:2:48, 1:4:64]>

// The parts of an addition in a turn are made in this turn, and the last one passes it on.
// CHECK-LABEL: func.func @parts_in_a_turn
// CHECK: tile.atomic_add %{{.*}}, %{{.*}}[%[[I:.*]], %c0] turn %[[N:.*]] of %[[TURNS:.*]][%[[I]]] next %[[N]]
// CHECK: tile.atomic_add %{{.*}}, %{{.*}}[%[[I]], %c128{{.*}}] turn %[[N]] of %[[TURNS]][%[[I]]] next %[[M:.*]] :
func.func @parts_in_a_turn(%ds: !sm.shared<64x96xbf16, 64>, %k: !sm.shared<96x256xbf16, 128>, %q: !sm.shared<64x256xbf16, 128>,
                 %sum: !tile.view<2xf32>, %i: index, %turns: !tile.view<1xi32>, %n: i32, %m: i32) -> (tensor<96x256xf32, #dk>, tensor<96x256xf32, #dk>) {
  %c0 = arith.constant 0 : index
  %x = sm.mma %ds, %k depth 96 : !sm.shared<64x96xbf16, 64>, !sm.shared<96x256xbf16, 128> -> tensor<64x256xf32, #dq>
  tile.atomic_add %x, %sum[%i, %c0] turn %n of %turns[%i] next %m : tensor<64x256xf32, #dq>, !tile.view<2xf32>, !tile.view<1xi32>
  %y = sm.mma %ds, %q depth 64 {transpose_lhs} : !sm.shared<64x96xbf16, 64>, !sm.shared<64x256xbf16, 128> -> tensor<96x256xf32, #dk>
  %z = sm.mma %ds, %q depth 64 {transpose_lhs} : !sm.shared<64x96xbf16, 64>, !sm.shared<64x256xbf16, 128> -> tensor<96x256xf32, #dk>
  return %y, %z : tensor<96x256xf32, #dk>, tensor<96x256xf32, #dk>
}
