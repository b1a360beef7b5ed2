// RUN: tegula-opt %s --lower-to-threads --cse --split-input-file --verify-diagnostics | FileCheck %s

!tile = !sm.shared<32x64xbf16, 128>
!ring = !sm.channel<1, !tile>

// The lowering decides nothing: the IR says which lanes execute an op, what TMA does, and where threads meet. A lane
// that loads makes one wait and one announcement of bytes, and tests nothing. Lanes that copy a tile do so without a
// fence, because no op says that there is one.
// CHECK-LABEL: func.func @loads_as_told
// CHECK: setmaxnreg.dec
// CHECK: scf.if %{{.*}} {
// CHECK-NEXT: scf.if %[[IS_FIRST:.*]] {
// CHECK-NOT: scf.if
// CHECK: mbarrier.try_wait.parity
// CHECK-NOT: scf.if
// CHECK: mbarrier.arrive.expect_tx
// CHECK-NOT: scf.if
// CHECK: cp.async.bulk.tensor
// CHECK-NOT: scf.if
// CHECK: }
// CHECK: mbarrier.try_wait.parity
// CHECK: scf.for
// CHECK: st.shared
// CHECK-NOT: fence.proxy
// CHECK-NOT: bar.warp.sync
// CHECK: @$0 mbarrier.arrive.shared{{.*}} %[[IS_FIRST]]
// CHECK: setmaxnreg.inc
module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 4096 : i64} {
  func.func @loads_as_told(%v: !tile.view<2xbf16>, %i: i32) {
    %c0 = arith.constant 0 : index
    %alloc = sm.alloc {offset = 0 : i64} : !sm.shared<1x32x64xbf16, 128>
    %b = sm.channel %alloc from load to [compute] : !ring
    sm.roles {
      compute warps 4 registers 240 barrier 1 {
        sm.release %b[%i] per_warp : !ring
      }
      load warps 1 registers 24 {
        sm.elect {
          sm.producer_load %v[%c0, %c0] [32, 64], %b[%i] phase %i : !tile.view<2xbf16>, !ring
        }
        %t = sm.producer_acquire %b[%i] phase %i : !ring
        sm.fallback_copy %t, %v[%c0, %c0] [32, 64] : !tile, !tile.view<2xbf16>
        sm.producer_commit %b[%i] : !ring
      }
    }
    return
  }
}

// -----

// An elected lane draws a work index and arrives without a predicate. A warp elects its first lane for that.
// CHECK-LABEL: func.func @draws_as_told
// CHECK: setmaxnreg.dec
// CHECK: scf.if %{{.*}} {
// CHECK-NEXT: scf.if %{{.*}} {
// CHECK-NOT: scf.if
// CHECK: atom.relaxed.gpu.global.inc.u32 $0, [$1], $2;
// CHECK: "st.shared.b32 [$0], $1;"
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: }
// CHECK: scf.if %{{.*}} -> (i32) {
// CHECK: atom.relaxed.gpu.global.inc.u32 $0, [$1], $2;
// CHECK: nvvm.shfl.sync idx
// CHECK: "@$2 st.shared.b32 [$0], $1;"
// CHECK: "@$0 mbarrier.arrive.shared::cta.b64 _, [$1];"
module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 0 : i64} {
  func.func @draws_as_told(%counter: !tile.view<1xi32>, %i: i32) {
    %b = sm.channel from load to [compute] : !sm.channel<2>
    sm.roles {
      compute warps 4 registers 240 barrier 1 {
        %n = sm.consume_work %b[%i] phase %i : !sm.channel<2>
      }
      load warps 1 registers 24 {
        sm.elect {
          %m = sm.produce_work %counter, %b[%i] phase %i : !tile.view<1xi32>, !sm.channel<2>
        }
        %n = sm.produce_work %counter, %b[%i] phase %i : !tile.view<1xi32>, !sm.channel<2>
      }
    }
    return
  }
}

// -----

// One thread draws a work index or arrives for all, and no thread waits for it: barriers are ops.
// CHECK-LABEL: func.func @meets_as_told
// CHECK-NOT: nvvm.barrier
// CHECK: atom.relaxed.gpu.global.inc.u32
// CHECK-NOT: nvvm.barrier
// CHECK: atom.acq_rel.gpu.global.inc.u32
// CHECK-NOT: nvvm.barrier
// CHECK: ld.shared.b32
// CHECK-NOT: nvvm.barrier
module attributes {tile.num_warps = 4 : i64} {
  func.func @meets_as_told(%counters: !tile.view<1xi32>, %i: index, %count: i32) {
    sm.draw_work %counters : !tile.view<1xi32>
    sm.arrive %counters[%i] of %count : !tile.view<1xi32>
    %n = sm.read_word : i32
    return
  }
}

// -----

// What an earlier pass has not decided is an error.
func.func @undecided_work(%counter: !tile.view<1xi32>) {
  // expected-error @below {{the cuda target cannot lower this op}}
  %n = tile.next_work %counter : !tile.view<1xi32>
  return
}

// -----

func.func @undecided_arrival(%counters: !tile.view<1xi32>, %i: index, %count: i32) {
  // expected-error @below {{the cuda target cannot lower this op}}
  %last = tile.arrive %counters[%i] of %count : !tile.view<1xi32>
  return
}

// -----

!tile = !sm.shared<32x64xbf16, 128>
!ring = !sm.channel<1, !tile>

module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 4096 : i64} {
  func.func @undecided_load(%v: !tile.view<2xbf16>, %i: i32) {
    %c0 = arith.constant 0 : index
    %alloc = sm.alloc {offset = 0 : i64} : !sm.shared<1x32x64xbf16, 128>
    %b = sm.channel %alloc from load to [compute] : !ring
    sm.roles {
      compute warps 4 registers 240 barrier 1 {
      }
      load warps 1 registers 24 {
        // expected-error @below {{is not in an 'sm.elect'; elect-lanes says which lanes load a tile}}
        sm.producer_load %v[%c0, %c0] [32, 64], %b[%i] phase %i : !tile.view<2xbf16>, !ring
      }
    }
    return
  }
}

// -----

!tile = !sm.shared<32x64xbf16, 128>
!ring = !sm.channel<1, !tile>

module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 4096 : i64} {
  func.func @a_matrix_by_one_lane(%v: !tile.view<2xbf16>, %i: i32) {
    %c0 = arith.constant 0 : index
    %alloc = sm.alloc {offset = 0 : i64} : !sm.shared<1x32x64xbf16, 128>
    %b = sm.channel %alloc from load to [compute] : !ring
    sm.roles {
      compute warps 4 registers 240 barrier 1 {
      }
      load warps 1 registers 24 {
        sm.elect {
          %t = sm.producer_acquire %b[%i] phase %i : !ring
          // expected-error @below {{copies a matrix by all lanes of a warp, of which an 'sm.elect' has one}}
          sm.fallback_copy %t, %v[%c0, %c0] [32, 64] : !tile, !tile.view<2xbf16>
        }
      }
    }
    return
  }
}
