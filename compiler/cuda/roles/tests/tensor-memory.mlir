// RUN: tegula-opt --plan-roles --split-roles --check-progress %s | FileCheck %s

#rows = #sm.layout<registers = [1:128:1], lanes = [0:32:1], warps = [0:4:32]>

// The role mma waits for both operands at once, and the tensor cores release their slot. The role compute has no loop:
// it waits for the accumulators and gives their columns back. No slot is filled twice, so none is released.
// CHECK-LABEL: func.func @product(
// CHECK: %[[AB:.*]] = sm.channel %{{.*}}, %{{.*}} from load to [mma] : !sm.channel<3, !sm.shared<128x64xbf16, 128>, !sm.shared<128x64xbf16, 128>>
// CHECK: %[[SUMS:.*]] = sm.tensor_alloc : !sm.tensor_memory<1, 128, 128>
// CHECK: %[[FULL:.*]] = sm.channel from mma to [compute] : !sm.channel<1>
// CHECK: compute warps 4 registers 240 {
// CHECK-NOT: scf.for
// CHECK: sm.wait_full %[[FULL]][%[[S:.*]]] phase %{{.*}}
// CHECK-NEXT: sm.tensor_read %[[SUMS]][%[[S]]] written
// CHECK-NOT: sm.release
// CHECK: sm.tensor_free %[[SUMS]]
// CHECK: mma warps 1 registers 40 {
// CHECK: sm.producer_acquire %[[FULL]][%[[S0:.*]]] phase
// CHECK: scf.for {{.*}} iter_args(%[[SLOT:.*]] = %c0{{.*}}, %[[PHASE:.*]] = %c0
// CHECK: %[[MORE:.*]] = arith.cmpi ne
// CHECK: %[[TILES:.*]]:2 = sm.consumer_wait %[[AB]][%[[SLOT]]] phase %[[PHASE]]
// CHECK-NEXT: sm.tcgen05 %[[TILES]]#0, %[[TILES]]#1 depth 64 into %[[SUMS]][%[[S0]]] accumulates %[[MORE]] {tile.label = "c", transpose_rhs}
// CHECK-NEXT: sm.release %[[AB]][%[[SLOT]]] per_warp after_products
// CHECK-NOT: sm.release
// CHECK: sm.producer_commit %[[FULL]][%[[S0]]] after_products
// CHECK: load warps 1 registers 40 {
// CHECK: sm.producer_load
// CHECK: sm.producer_load

// In a loop over tiles, accumulators have two slots. The products of a tile begin when the role compute has read those
// of the tile before the last one.
// CHECK-LABEL: func.func @persistent(
// CHECK: %[[SUMS:.*]] = sm.tensor_alloc : !sm.tensor_memory<2, 128, 128>
// CHECK: %[[FULL:.*]] = sm.channel from mma to [compute] : !sm.channel<2>
// CHECK: compute warps 4
// CHECK: scf.for {{.*}} iter_args(%[[SLOT:.*]] = %c0{{.*}}, %[[PHASE:.*]] = %c0
// CHECK-NOT: scf.for
// CHECK: sm.wait_full %[[FULL]][%[[SLOT]]] phase %[[PHASE]]
// CHECK-NEXT: sm.tensor_read %[[SUMS]][%[[SLOT]]] written
// CHECK-NEXT: sm.release %[[FULL]][%[[SLOT]]] per_warp
// CHECK: sm.tensor_free
// CHECK: mma warps 1
// CHECK: scf.for {{.*}} iter_args(%[[SLOT:.*]] = %c0{{.*}}, %[[PHASE:.*]] = %c0{{.*}}, %{{.*}} = %c0{{.*}}, %{{.*}} = %c0
// CHECK: sm.producer_acquire %[[FULL]][%[[SLOT]]] phase %[[PHASE]]
// CHECK: scf.for
// CHECK: sm.tcgen05 {{.*}} into %[[SUMS]][%[[SLOT]]]
// CHECK: sm.producer_commit %[[FULL]][%[[SLOT]]] after_products
module attributes {tile.roles = "load", tile.num_warps = 4 : i64, tile.num_stages = 3 : i64} {
  func.func @product(%A: !tile.view<2xbf16>, %B: !tile.view<2xbf16>, %C: !tile.view<2xf32> {tile.written}, %end: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %slot = arith.constant 0 : i32
    %sums = sm.tensor_alloc : !sm.tensor_memory<1, 128, 128>
    %any = arith.cmpi slt, %c0, %end : index
    scf.for %k = %c0 to %end step %c64 {
      %a = sm.load_shared %A[%c0, %k] [128, 64] : !tile.view<2xbf16> -> !sm.shared<128x64xbf16, 128>
      %b = sm.load_shared %B[%c0, %k] [128, 64] : !tile.view<2xbf16> -> !sm.shared<128x64xbf16, 128>
      %more = arith.cmpi ne, %k, %c0 : index
      sm.tcgen05 %a, %b depth 64 into %sums[%slot] accumulates %more {tile.label = "c", transpose_rhs}
        : !sm.shared<128x64xbf16, 128>, !sm.shared<128x64xbf16, 128>, !sm.tensor_memory<1, 128, 128>
    }
    %c = sm.tensor_read %sums[%slot] written %any : !sm.tensor_memory<1, 128, 128> -> tensor<128x128xf32, #rows>
    tile.store %c, %C[%c0, %c0] : tensor<128x128xf32, #rows>, !tile.view<2xf32>
    return
  }

  func.func @persistent(%A: !tile.view<2xbf16>, %B: !tile.view<2xbf16>, %C: !tile.view<2xf32> {tile.written}, %tiles: index,
                        %end: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %slot = arith.constant 0 : i32
    scf.for %i = %c0 to %tiles step %c128 {
      %sums = sm.tensor_alloc : !sm.tensor_memory<1, 128, 128>
      %any = arith.cmpi slt, %c0, %end : index
      scf.for %k = %c0 to %end step %c64 {
        %a = sm.load_shared %A[%i, %k] [128, 64] : !tile.view<2xbf16> -> !sm.shared<128x64xbf16, 128>
        %b = sm.load_shared %B[%c0, %k] [128, 64] : !tile.view<2xbf16> -> !sm.shared<128x64xbf16, 128>
        %more = arith.cmpi ne, %k, %c0 : index
        sm.tcgen05 %a, %b depth 64 into %sums[%slot] accumulates %more {transpose_rhs}
          : !sm.shared<128x64xbf16, 128>, !sm.shared<128x64xbf16, 128>, !sm.tensor_memory<1, 128, 128>
      }
      %c = sm.tensor_read %sums[%slot] written %any : !sm.tensor_memory<1, 128, 128> -> tensor<128x128xf32, #rows>
      tile.store %c, %C[%i, %c0] : tensor<128x128xf32, #rows>, !tile.view<2xf32>
    }
    return
  }
}
