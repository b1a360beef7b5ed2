// RUN: tegula-opt %s --assign-layouts --split-input-file | FileCheck %s

// S is computed as its transpose: threads hold it by columns. dV takes P from registers. dS goes to shared memory as its
// transpose, which dQ reads with `transpose_lhs`, each warpgroup for its columns. Nothing is converted.
// CHECK-DAG: #[[T:.*]] = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>
// CHECK-DAG: #[[S:.*]] = #sm.layout<registers = [0:2:1, 1:2:8, 0:8:8], lanes = [0:4:2, 1:8:1], warps = [1:8:16]>
// CHECK-DAG: #[[HALVES:.*]] = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16, 1:2:64]>
// CHECK-LABEL: func.func @backward
// CHECK: %[[F:.*]] = sm.wgmma %[[K:.*]], %[[Q:.*]] depth 128 {transpose_rhs} : !sm.shared<128x128xbf16, 128>, !sm.shared<64x128xbf16, 128>
// CHECK-SAME: -> !sm.inflight<tensor<128x64xf32, #[[T]]>>
// CHECK: %[[ST:.*]] = sm.await %[[F]]
// CHECK: tile.transpose %[[ST]] [1, 0] : tensor<128x64xf32, #[[T]]> -> tensor<64x128xf32, #[[S]]>
// CHECK: %[[P:.*]] = arith.truncf {{.*}} to tensor<64x128xbf16, #[[S]]>
// CHECK: %[[STAGED:.*]] = sm.to_shared {{.*}} : tensor<128x64xbf16, #[[T]]> -> !sm.shared<128x64xbf16, 128>
// CHECK: %[[PT:.*]] = tile.transpose %[[P]] [1, 0]
// CHECK: %[[WORDS:.*]] = sm.pack %[[PT]]
// CHECK: sm.wgmma %[[WORDS]], %[[Q]] depth 64 :
// CHECK: sm.wgmma %[[STAGED]], %[[K]] depth 128 {transpose_lhs} :
// CHECK-SAME: -> !sm.inflight<tensor<64x128xf32, #[[HALVES]]>>
// CHECK-NOT: sm.convert
module attributes {tile.roles = "load", tile.num_warps = 8 : i64} {
  func.func @backward(%Q: !tile.view<2xbf16>, %K: !tile.view<2xbf16>, %V: !tile.view<2xf32>, %W: !tile.view<2xf32>) {
    %c0 = arith.constant 0 : index
    %q = tile.load %Q[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x128xbf16>
    %k = tile.load %K[%c0, %c0] : !tile.view<2xbf16> -> tensor<128x128xbf16>
    %s = tile.dot %q, %k {transpose_rhs, tile.flipped = true, tile.warpgroups = array<i64: 2, 1>}
      : tensor<64x128xbf16>, tensor<128x128xbf16> -> tensor<64x128xf32>
    %p = arith.truncf %s : tensor<64x128xf32> to tensor<64x128xbf16>
    %dv = tile.dot %p, %q {transpose_lhs, tile.flipped = false, tile.warpgroups = array<i64: 2, 1>}
      : tensor<64x128xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
    %dq = tile.dot %p, %k {tile.flipped = false, tile.warpgroups = array<i64: 1, 2>}
      : tensor<64x128xbf16>, tensor<128x128xbf16> -> tensor<64x128xf32>
    tile.atomic_add %dv, %V[%c0, %c0] : tensor<128x128xf32>, !tile.view<2xf32>
    tile.atomic_add %dq, %W[%c0, %c0] : tensor<64x128xf32>, !tile.view<2xf32>
    return
  }
}

// -----

// Each warpgroup computes a whole panel of 64 columns, and the buffer has both.
// CHECK-DAG: #[[PANELS:.*]] = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16, 1:2:64]>
// CHECK-LABEL: func.func @padded
// CHECK: sm.load_shared %{{.*}} [64, 80] : !tile.view<2xbf16> -> !sm.shared<64x128xbf16, 128>
// CHECK: sm.wgmma {{.*}} -> !sm.inflight<tensor<64x80xf32, #[[PANELS]]>>
module attributes {tile.roles = "load", tile.num_warps = 8 : i64} {
  func.func @padded(%A: !tile.view<2xbf16>, %K: !tile.view<2xbf16>, %W: !tile.view<2xf32>) {
    %c0 = arith.constant 0 : index
    %a = tile.load %A[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
    %k = tile.load %K[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x80xbf16>
    %0 = tile.dot %a, %k {tile.flipped = false, tile.warpgroups = array<i64: 1, 2>}
      : tensor<64x64xbf16>, tensor<64x80xbf16> -> tensor<64x80xf32>
    tile.atomic_add %0, %W[%c0, %c0] : tensor<64x80xf32>, !tile.view<2xf32>
    return
  }
}
