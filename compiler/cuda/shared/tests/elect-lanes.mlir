// RUN: tegula-opt %s --elect-lanes --split-input-file | FileCheck %s

!tile = !sm.shared<64x64xbf16, 128>
!ring = !sm.channel<2, !tile>

// One lane loads the operands of MMAs if TMA can load them in this launch. Otherwise the lanes of the warp copy them:
// they meet before one of them marks the slot as full, and a fence lets MMAs see what they have written. The step list
// is the order of loads by TMA.
// CHECK-LABEL: func.func @operands
// CHECK: load warps 1 registers 40 {
// CHECK-NEXT: %[[BY_TMA:.*]] = sm.can_load_by_tma : i1
// CHECK-NEXT: scf.if %[[BY_TMA]] {
// CHECK-NEXT: sm.elect {
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-NEXT: scf.for %[[I:.*]] =
// CHECK-NEXT: sm.producer_load %arg0[%[[I]], %{{.*}}] [64, 64], %[[K:.*]][%[[ZERO]]] phase %[[ZERO]] : !tile.view
// CHECK-NEXT: } {tile.steps = "k"}
// CHECK-NEXT: }
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-NEXT: scf.for %[[I:.*]] =
// CHECK-NEXT: %[[TILE:.*]] = sm.producer_acquire %[[K]][%[[ZERO]]] phase %[[ZERO]] :
// CHECK-NEXT: sm.fallback_copy %[[TILE]], %arg0[%[[I]], %{{.*}}] [64, 64] :
// CHECK-NEXT: sm.proxy_fence
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.producer_commit %[[K]][%[[ZERO]]] :
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
module attributes {tile.num_warps = 4 : i64} {
  func.func @operands(%v: !tile.view<2xbf16>, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %alloc = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    %k = sm.channel %alloc from load to [compute] : !ring
    sm.roles {
      compute warps 4 registers 232 {
      }
      load warps 1 registers 40 {
        %zero = arith.constant 0 : i32
        scf.for %i = %c0 to %n step %c64 {
          sm.producer_load %v[%i, %c0] [64, 64], %k[%zero] phase %zero {fenced} : !tile.view<2xbf16>, !ring
        } {tile.steps = "k"}
      }
    }
    return
  }
}

// -----

!tile = !sm.shared<64x64xbf16, 128>
!ring = !sm.channel<2, !tile>

// A tile that consumers copy otherwise is tested by itself. Where TMA cannot load it, one lane hands the empty slot over.
// CHECK-LABEL: func.func @tma_only
// CHECK: sm.elect {
// CHECK-NEXT: %[[TILE:.*]] = sm.producer_acquire %[[K:.*]][%[[S:.*]]] phase %[[P:.*]] :
// CHECK-NEXT: %[[LOADED:.*]] = sm.is_loaded %[[TILE]], %arg0[%arg1, %arg1] :
// CHECK-NEXT: scf.if %[[LOADED]] {
// CHECK-NEXT: sm.producer_load %arg0[%arg1, %arg1] [64, 64], %[[K]][%[[S]]] phase %[[P]] tested :
// CHECK-NEXT: } else {
// CHECK-NEXT: sm.producer_commit %[[K]][%[[S]]] :
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: } else {
// CHECK-NEXT: sm.elect {
// CHECK-NEXT: sm.producer_acquire %[[K]][%[[S]]] phase %[[P]] :
// CHECK-NEXT: sm.producer_commit %[[K]][%[[S]]] :
// CHECK-NEXT: }
// CHECK-NEXT: }
module attributes {tile.num_warps = 4 : i64} {
  func.func @tma_only(%v: !tile.view<2xbf16>, %i: index, %slot: i32, %phase: i32) {
    %alloc = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    %k = sm.channel %alloc from load to [compute] : !ring
    sm.roles {
      compute warps 4 registers 232 {
      }
      load warps 1 registers 40 {
        sm.producer_load %v[%i, %i] [64, 64], %k[%slot] phase %phase tma_only : !tile.view<2xbf16>, !ring
      }
    }
    return
  }
}

// -----

!ring = !sm.channel<2, !sm.shared<64xf32, 0>>

// A vector is tested by itself, too. The lane copies it where TMA cannot load it. Without TMA, all lanes copy it.
// CHECK-LABEL: func.func @a_vector
// CHECK: sm.elect {
// CHECK-NEXT: %[[TILE:.*]] = sm.producer_acquire
// CHECK-NEXT: %[[LOADED:.*]] = sm.is_loaded %[[TILE]], %arg0[%arg1] :
// CHECK-NEXT: scf.if %[[LOADED]] {
// CHECK-NEXT: sm.producer_load {{.*}} tested :
// CHECK-NEXT: } else {
// CHECK-NEXT: sm.fallback_copy %[[TILE]], %arg0[%arg1] [64] :
// CHECK-NEXT: sm.producer_commit
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[TILE:.*]] = sm.producer_acquire
// CHECK-NEXT: sm.fallback_copy %[[TILE]], %arg0[%arg1] [64] :
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.producer_commit
// CHECK-NEXT: }
module attributes {tile.num_warps = 4 : i64} {
  func.func @a_vector(%v: !tile.view<1xf32>, %i: index, %slot: i32, %phase: i32) {
    %alloc = sm.alloc : !sm.shared<2x64xf32, 0>
    %k = sm.channel %alloc from load to [compute] : !ring
    sm.roles {
      compute warps 4 registers 232 {
      }
      load warps 1 registers 40 {
        sm.producer_load %v[%i] [64], %k[%slot] phase %phase : !tile.view<1xf32>, !ring
      }
    }
    return
  }
}

// -----

// One lane executes a role in which a lane starts products. A role with neither loads nor such products stays as it is.
// CHECK-LABEL: func.func @products
// CHECK: compute warps
// CHECK-NEXT: sm.wait_full
// CHECK: mma warps 1 registers 40 {
// CHECK-NEXT: sm.elect {
// CHECK-NEXT: sm.producer_acquire
// CHECK-NEXT: sm.tcgen05
// CHECK-NEXT: sm.producer_commit {{.*}} after_products
// CHECK-NEXT: }
// CHECK-NEXT: }
module attributes {tile.num_warps = 4 : i64} {
  func.func @products(%i: i32, %more: i1) {
    %a = sm.alloc : !sm.shared<128x64xbf16, 128>
    %b = sm.alloc : !sm.shared<64x64xbf16, 128>
    %sums = sm.tensor_alloc : !sm.tensor_memory<2, 128, 64>
    %full = sm.channel from mma to [compute] : !sm.channel<2>
    sm.roles {
      compute warps 4 registers 232 {
        sm.wait_full %full[%i] phase %i : !sm.channel<2>
      }
      mma warps 1 registers 40 {
        sm.producer_acquire %full[%i] phase %i : !sm.channel<2>
        sm.tcgen05 %a, %b depth 64 into %sums[%i] accumulates %more {transpose_rhs}
          : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, !sm.tensor_memory<2, 128, 64>
        sm.producer_commit %full[%i] after_products : !sm.channel<2>
      }
    }
    return
  }
}

// -----

!tile = !sm.shared<64x64xbf16, 128>
!ring = !sm.channel<2, !tile>

// The lanes of the warp share the boxes of a tile in several pages. One lane starts each of the other loads.
// CHECK-LABEL: func.func @pages
// CHECK: scf.if %{{.*}} {
// CHECK-NOT: sm.elect
// CHECK: scf.for
// CHECK: sm.elect {
// CHECK-NEXT: sm.producer_load %arg2[
// CHECK-NEXT: }
// CHECK-NEXT: sm.producer_load %{{.*}}[%{{.*}}] [64, 64], %{{.*}} phase %{{.*}} : !tile.view
// CHECK: } else {
module attributes {tile.num_warps = 4 : i64} {
  func.func @pages(%pool: !tile.view<3xbf16>, %table: !tile.view<1xi32>, %v: !tile.view<2xbf16>, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    %second = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    %a = sm.channel %first from load to [compute] : !ring
    %b = sm.channel %second from load to [compute] : !ring
    sm.roles {
      compute warps 4 registers 232 {
      }
      load warps 1 registers 40 {
        %zero = arith.constant 0 : i32
        %rows = tile.pages %pool[%table] page 16 : !tile.view<3xbf16>, !tile.view<1xi32> -> !tile.view<2xbf16>
        scf.for %i = %c0 to %n step %c64 {
          sm.producer_load %v[%i, %c0] [64, 64], %a[%zero] phase %zero {fenced} : !tile.view<2xbf16>, !ring
          sm.producer_load %rows[%i, %c0] [64, 64], %b[%zero] phase %zero {fenced} : !tile.view<2xbf16>, !ring
        }
      }
    }
    return
  }
}

// -----

!a = !sm.shared<64x64xbf16, 128>
!b = !sm.shared<64x128xbf16, 128>
!ring = !sm.channel<2, !a, !b>

// One lane loads both parts of a slot. Without TMA, lanes wait for the slot once, and it becomes full after both copies.
// CHECK-LABEL: func.func @parts
// CHECK: sm.elect {
// CHECK-NEXT: sm.producer_load %arg0[%arg1, %arg1] [64, 64], %[[AB:.*]][%[[S:.*]]] phase %[[P:.*]] : !tile.view
// CHECK-NEXT: sm.producer_load %arg0[%arg1, %arg1] [64, 128], %[[AB]][%[[S]]] phase %[[P]] part 1 : !tile.view
// CHECK-NEXT: }
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[TILES:.*]]:2 = sm.producer_acquire %[[AB]][%[[S]]] phase %[[P]] :
// CHECK-NEXT: sm.fallback_copy %[[TILES]]#0, %arg0[%arg1, %arg1] [64, 64] :
// CHECK-NEXT: sm.fallback_copy %[[TILES]]#1, %arg0[%arg1, %arg1] [64, 128] :
// CHECK-NEXT: sm.proxy_fence
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.producer_commit %[[AB]][%[[S]]] :
// CHECK-NEXT: }
module attributes {tile.num_warps = 4 : i64} {
  func.func @parts(%v: !tile.view<2xbf16>, %i: index, %slot: i32, %phase: i32) {
    %as = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    %bs = sm.alloc : !sm.shared<2x64x128xbf16, 128>
    %ab = sm.channel %as, %bs from load to [compute] : !ring
    sm.roles {
      compute warps 4 registers 232 {
      }
      load warps 1 registers 40 {
        sm.producer_load %v[%i, %i] [64, 64], %ab[%slot] phase %phase : !tile.view<2xbf16>, !ring
        sm.producer_load %v[%i, %i] [64, 128], %ab[%slot] phase %phase part 1 {fenced} : !tile.view<2xbf16>, !ring
      }
    }
    return
  }
}

// -----

!a = !sm.shared<64x64xbf16, 128>
!ring = !sm.channel<2, !a, !a>

// Lanes share the boxes of a part in pages. One lane loads the other part, after it has met the one that has waited for
// the slot.
// CHECK-LABEL: func.func @a_part_in_pages
// CHECK: scf.if
// CHECK-NEXT: sm.producer_load %[[PAGES:.*]][%arg2, %arg2] [64, 64], %[[AB:.*]][%[[S:.*]]] phase %[[P:.*]] : !tile.view
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.elect {
// CHECK-NEXT: sm.producer_load %arg3[%arg2, %arg2] [64, 64], %[[AB]][%[[S]]] phase %[[P]] part 1 : !tile.view
// CHECK-NEXT: }
// CHECK-NEXT: } else {
module attributes {tile.num_warps = 4 : i64} {
  func.func @a_part_in_pages(%k: !tile.view<3xbf16>, %table: !tile.view<1xi32>, %i: index, %v: !tile.view<2xbf16>,
      %slot: i32, %phase: i32) {
    %pages = tile.pages %k[%table] page 16 : !tile.view<3xbf16>, !tile.view<1xi32> -> !tile.view<2xbf16>
    %as = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    %bs = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    %ab = sm.channel %as, %bs from load to [compute] : !ring
    sm.roles {
      compute warps 4 registers 232 {
      }
      load warps 1 registers 40 {
        sm.producer_load %pages[%i, %i] [64, 64], %ab[%slot] phase %phase : !tile.view<2xbf16>, !ring
        sm.producer_load %v[%i, %i] [64, 64], %ab[%slot] phase %phase part 1 : !tile.view<2xbf16>, !ring
      }
    }
    return
  }
}
