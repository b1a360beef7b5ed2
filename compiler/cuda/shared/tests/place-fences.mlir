// RUN: tegula-opt %s --place-fences --split-input-file | FileCheck %s

// One fence is enough for two MMAs that start together. The third MMA has its own, because its operand was packed after
// the first fence. So has the last one, because the wait before it is a branch.
// CHECK-LABEL: func.func @one_fence
// CHECK: sm.wgmma %{{.*}}, %{{.*}} depth 16 {fenced}
// CHECK: sm.pack
// CHECK: sm.wgmma %{{.*}}, %{{.*}} depth 16 {fenced}
// CHECK: sm.wgmma %{{.*}}, %{{.*}} depth 16 :
// CHECK: sm.pack
// CHECK: sm.wgmma %{{.*}}, %{{.*}} depth 16 {fenced}
// CHECK: sm.consumer_wait
// CHECK: sm.wgmma %{{.*}}, %{{.*}} depth 16 {fenced}
#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#words = #sm.layout<registers = [0:2:8, 1:8:4], lanes = [1:4:1, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>
!sums = !sm.inflight<tensor<64x64xf32, #c>>
module attributes {tile.arch = 90 : i64, tile.num_warps = 4 : i64} {
func.func @one_fence() {
  %a = sm.alloc {offset = 0 : i64} : !tile
  %ring = sm.alloc {offset = 8192 : i64} : !sm.shared<1x64x64xbf16, 128>
  %channel = sm.channel %ring from load to [compute] {offset = 16384 : i64} : !sm.channel<1, !tile>
  sm.roles {
    compute warps 4 registers 240 {
      %zero = arith.constant 0 : i32
      %f = sm.wgmma %a, %a depth 16 : !tile, !tile -> !sums
      %s = sm.await %f : !sums
      %p = arith.truncf %s : tensor<64x64xf32, #c> to tensor<64x64xbf16, #c>
      %early = sm.pack %p : tensor<64x64xbf16, #c> -> tensor<64x32xi32, #words>
      %f0 = sm.wgmma %a, %a depth 16 : !tile, !tile -> !sums
      %f1 = sm.wgmma %early, %a depth 16 : tensor<64x32xi32, #words>, !tile -> !sums
      %twice = arith.addf %s, %s : tensor<64x64xf32, #c>
      %p2 = arith.truncf %twice : tensor<64x64xf32, #c> to tensor<64x64xbf16, #c>
      %late = sm.pack %p2 : tensor<64x64xbf16, #c> -> tensor<64x32xi32, #words>
      %f2 = sm.wgmma %late, %a depth 16 : tensor<64x32xi32, #words>, !tile -> !sums
      %k = sm.consumer_wait %channel[%zero] phase %zero : !sm.channel<1, !tile>
      %f3 = sm.wgmma %a, %k depth 16 : !tile, !tile -> !sums
      %0 = sm.await %f0 pending 3 : !sums
      %1 = sm.await %f1 pending 2 : !sums
      %2 = sm.await %f2 pending 1 : !sums
      %3 = sm.await %f3 pending 0 : !sums
    }
    load warps 1 registers 24 {
    }
  }
  return
}
}

// -----

// An MMA that adds to accumulators in flight needs no fence, if its operands lie in shared memory. An operand in
// registers needs one. Accumulators in registers that were written before the fence of another MMA need none.
// CHECK-LABEL: func.func @accumulators
// CHECK: sm.wgmma {{.*}} {fenced}
// CHECK: sm.wgmma %{{.*}}, %{{.*}} depth 16 acc %{{[a-z0-9_]*}} :
// CHECK: sm.wgmma %{{.*}}, %{{.*}} depth 16 acc %{{[a-z0-9_]*}} :
// CHECK: sm.await
// CHECK: sm.pack
// CHECK: sm.wgmma %{{.*}}, %{{.*}} depth 16 acc %{{[a-z0-9_]*}} {fenced}
#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#words = #sm.layout<registers = [0:2:8, 1:8:4], lanes = [1:4:1, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>
!sums = !sm.inflight<tensor<64x64xf32, #c>>
func.func @accumulators(%a: !tile) {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %f = sm.wgmma %a, %a depth 16 : !tile, !tile -> !sums
  %g = sm.wgmma %a, %a depth 16 acc %f : !tile, !tile, !sums -> !sums
  %h = sm.wgmma %a, %a depth 16 acc %zero : !tile, !tile, tensor<64x64xf32, #c> -> !sums
  %s = sm.await %h : !sums
  %p = arith.truncf %s : tensor<64x64xf32, #c> to tensor<64x64xbf16, #c>
  %packed = sm.pack %p : tensor<64x64xbf16, #c> -> tensor<64x32xi32, #words>
  %i = sm.wgmma %packed, %a depth 16 acc %g : tensor<64x32xi32, #words>, !tile, !sums -> !sums
  %r = sm.await %i : !sums
  return
}

// -----

// An MMA needs both operands. The lanes that copy the second one fence for both. Lanes alone read the third tile.
// CHECK-LABEL: func.func @loads
// CHECK: sm.producer_load {{.*}} phase %{{[a-z0-9_]*}} :
// CHECK: sm.producer_load {{.*}} phase %{{[a-z0-9_]*}} {fenced}
// CHECK: sm.producer_load {{.*}} phase %{{[a-z0-9_]*}} tma_only :
#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>
!channel = !sm.channel<1, !tile>
module attributes {tile.num_warps = 4 : i64} {
func.func @loads(%v: !tile.view<2xbf16>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %ring_a = sm.alloc {offset = 0 : i64} : !sm.shared<1x64x64xbf16, 128>
  %ring_b = sm.alloc {offset = 8192 : i64} : !sm.shared<1x64x64xbf16, 128>
  %ring_x = sm.alloc {offset = 16384 : i64} : !sm.shared<1x64x64xbf16, 128>
  %as = sm.channel %ring_a from load to [compute] : !channel
  %bs = sm.channel %ring_b from load to [compute] : !channel
  %xs = sm.channel %ring_x from load to [compute] : !channel
  sm.roles {
    compute warps 4 registers 240 {
      %a = sm.consumer_wait %as[%zero] phase %zero : !channel
      %b = sm.consumer_wait %bs[%zero] phase %zero : !channel
      %f = sm.wgmma %a, %b depth 64 : !tile, !tile -> !sm.inflight<tensor<64x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
      %x = sm.consumer_wait %xs[%zero] phase %zero : !channel
      %r = sm.read %x : !tile -> tensor<64x64xbf16, #c>
    }
    load warps 1 registers 24 {
      sm.producer_load %v[%c0, %c0] [64, 64], %as[%zero] phase %zero : !tile.view<2xbf16>, !channel
      sm.producer_load %v[%c0, %c0] [64, 64], %bs[%zero] phase %zero : !tile.view<2xbf16>, !channel
      sm.producer_load %v[%c0, %c0] [64, 64], %xs[%zero] phase %zero tma_only : !tile.view<2xbf16>, !channel
    }
  }
  return
}
}

// -----

// TMA sees what lanes have written to a buffer that it stores or adds only after a fence.
// CHECK-LABEL: func.func @stores
// CHECK: sm.write
// CHECK-NEXT: sm.proxy_fence
// CHECK-NEXT: sm.barrier warp
// CHECK: sm.write
// CHECK-NEXT: sm.barrier warp
// CHECK: sm.write %{{.*}} staggered
// CHECK-NEXT: sm.proxy_fence
// CHECK-NEXT: sm.barrier warp
#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>
module attributes {tile.num_warps = 4 : i64} {
func.func @stores(%o: !tile.view<2xbf16>, %x: tensor<64x64xbf16, #c>, %sum: !tile.view<2xf32>,
                  %y: tensor<64x64xf32, #c>, %zero: i32) {
  %c0 = arith.constant 0 : index
  %s = sm.alloc {offset = 0 : i64} : !tile
  %t = sm.alloc {offset = 8192 : i64} : !tile
  %u = sm.alloc {offset = 16384 : i64} : !sm.shared<64x64xf32, 128>
  sm.roles {
    compute warps 4 registers 240 {
      sm.write %x, %s : tensor<64x64xbf16, #c>, !tile
      sm.barrier warp
      sm.tma_store %s, %o[%c0, %c0] rows_of_warp 16 : !tile, !tile.view<2xbf16>
      sm.write %x, %t : tensor<64x64xbf16, #c>, !tile
      sm.barrier warp
      sm.copy_out %t, %o[%c0, %c0] [64, 64] rows_of_warp 16 : !tile, !tile.view<2xbf16>
      sm.write %y, %u staggered : tensor<64x64xf32, #c>, !sm.shared<64x64xf32, 128>
      sm.barrier warp
      sm.tma_add %u layout #c, %sum at %zero, %zero : !sm.shared<64x64xf32, 128>, !tile.view<2xf32>
    }
    load warps 1 registers 24 {
    }
  }
  return
}
}
