// RUN: tegula-opt --plan-shared --split-input-file --verify-diagnostics %s | FileCheck %s

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>

// CHECK: module attributes {tile.shared_bytes = 16384 : i64}
// CHECK-LABEL: func @one_after_the_other
// CHECK: sm.alloc {offset = 0 : i64}
// CHECK: sm.alloc {offset = 8192 : i64}
// CHECK: sm.alloc {offset = 0 : i64}
module {
  func.func @one_after_the_other(%x: tensor<64x64xbf16, #c>) {
    %a = sm.alloc : !tile
    sm.write %x, %a : tensor<64x64xbf16, #c>, !tile
    %b = sm.alloc : !tile
    sm.write %x, %b : tensor<64x64xbf16, #c>, !tile
    %p = sm.mma %a, %b depth 64 : !tile, !tile -> tensor<64x64xf32, #c>
    %d = sm.alloc : !tile
    sm.write %x, %d : tensor<64x64xbf16, #c>, !tile
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>

// A buffer that a loop reads is in use in the whole loop. A buffer that the loop allocates itself is in use in part of
// an iteration.
// CHECK: module attributes {tile.shared_bytes = 24576 : i64}
// CHECK-LABEL: func @loop
// CHECK: %[[OUTER:.*]] = sm.alloc {offset = 16384 : i64} : !sm.shared<64x64
// CHECK: scf.for
// CHECK: sm.alloc {offset = 0 : i64} : !sm.shared<64x128xbf16, 128>
// CHECK: sm.alloc {offset = 0 : i64} : !sm.shared<64x128xbf16, 128>
// CHECK: return
module {
  func.func @loop(%x: tensor<64x64xbf16, #c>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %outer = sm.alloc : !tile
    sm.write %x, %outer : tensor<64x64xbf16, #c>, !tile
    scf.for %i = %c0 to %n step %c1 {
      %p = sm.mma %outer, %outer depth 64 : !tile, !tile -> tensor<64x64xf32, #c>
      %a = sm.alloc : !sm.shared<64x128xbf16, 128>
      sm.write %x, %a : tensor<64x64xbf16, #c>, !sm.shared<64x128xbf16, 128>
      %b = sm.alloc : !sm.shared<64x128xbf16, 128>
      sm.write %x, %b : tensor<64x64xbf16, #c>, !sm.shared<64x128xbf16, 128>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>

// No op reads the copies. The memory of a copy is free once a wait that names it is over, and the memory of a ring is
// free after the loop that waits for it.
// CHECK: module attributes {tile.shared_bytes = 24576 : i64}
// CHECK-LABEL: func @copies_under_way
// CHECK: %[[Q:.*]] = sm.alloc {offset = 16384 : i64}
// CHECK: %[[RING:.*]] = sm.alloc {offset = 0 : i64} : !sm.shared<2x64x64xbf16, 128>
// CHECK: sm.wait
// CHECK: sm.wait
// CHECK: sm.alloc {offset = 0 : i64}
// CHECK: sm.wait
// CHECK: sm.alloc {offset = 0 : i64} : !sm.shared<192x64xbf16, 128>
module {
  func.func @copies_under_way(%k: !tile.view<2xbf16>, %x: tensor<64x64xbf16, #c>, %n: index, %slot: i32) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %q = sm.alloc : !tile
    %ring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    sm.copy_in %k[%c0, %c0] [64, 64], %q : !tile.view<2xbf16>, !tile
    %of_q = sm.commit
    %g0 = sm.commit
    scf.for %i = %c0 to %n step %c1 iter_args(%old = %g0) -> !sm.copies {
      sm.wait %old
      %a = sm.slot %ring[%slot] : !sm.shared<2x64x64xbf16, 128> -> !tile
      sm.copy_in %k[%i, %c0] [64, 64], %a : !tile.view<2xbf16>, !tile
      %g1 = sm.commit
      scf.yield %g1 : !sm.copies
    }
    sm.wait %g0
    %b = sm.alloc : !tile
    sm.write %x, %b : tensor<64x64xbf16, #c>, !tile
    sm.wait %of_q
    %d = sm.alloc : !sm.shared<192x64xbf16, 128>
    sm.write %x, %d : tensor<64x64xbf16, #c>, !sm.shared<192x64xbf16, 128>
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>

// A buffer that a producer fills is in use from the start until the consumers' last MMA has read it. The memory of q is
// then free for a buffer of the same size. The memory of k is in use until the loop ends, because the producer may fill
// it again.
// CHECK: tile.shared_bytes = 32768 : i64
// CHECK-LABEL: func @roles
// CHECK: sm.alloc {offset = 16384 : i64} : !sm.shared<1x64x64
// CHECK: sm.alloc {offset = 0 : i64} : !sm.shared<2x64x64
// CHECK: sm.alloc {offset = 24576 : i64}
// CHECK: sm.alloc {offset = 16384 : i64}
module attributes {tile.num_warps = 4 : i64} {
  func.func @roles(%k: !tile.view<2xbf16>, %x: tensor<64x64xbf16, #c>, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0 : i32
    %q_ring = sm.alloc : !sm.shared<1x64x64xbf16, 128>
    %q_full = sm.channel %q_ring from load to [compute] : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
    %ring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    %full = sm.channel %ring from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    sm.roles {
      compute warps 4 registers 240 {
        %q = sm.consumer_wait %q_full[%zero] phase %zero : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
        scf.for %j = %c0 to %n step %c64 {
          %received = sm.consumer_wait %full[%zero] phase %zero : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
          %p = sm.wgmma %q, %received depth 64 {transpose_rhs} : !tile, !tile -> !sm.inflight<tensor<64x64xf32, #c>>
          %early = sm.alloc : !tile
          sm.write %x, %early : tensor<64x64xbf16, #c>, !tile
          %s = sm.await %p : !sm.inflight<tensor<64x64xf32, #c>>
          sm.release %full[%zero] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
        }
        %o = sm.alloc : !tile
        sm.write %x, %o : tensor<64x64xbf16, #c>, !tile
      }
      load warps 1 registers 32 {
        sm.producer_load %k[%c0, %c0] [64, 64], %q_full[%zero] phase %zero : !tile.view<2xbf16>, !sm.channel<1, !sm.shared<64x64xbf16, 128>>
        scf.for %j = %c0 to %n step %c64 {
          sm.producer_load %k[%j, %c0] [64, 64], %full[%zero] phase %zero : !tile.view<2xbf16>, !sm.channel<2, !sm.shared<64x64xbf16, 128>>
        }
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// TMA may read the buffer of an addition after the last op that names it, so no other buffer gets its memory.
// CHECK: module attributes {{{.*}}tile.shared_bytes = 24576 : i64
// CHECK-LABEL: func @added_by_tma
// CHECK: sm.alloc {offset = 0 : i64} : !sm.shared<64x64xf32, 128>
// CHECK: sm.alloc {offset = 16384 : i64} : !sm.shared<64x64xbf16, 128>
module attributes {tile.num_warps = 4 : i64} {
  func.func @added_by_tma(%v: !tile.view<2xf32>, %x: tensor<64x64xf32, #c>, %y: tensor<64x64xbf16, #c>, %i: index) {
    %zero = arith.constant 0 : i32
    %buffer = sm.alloc : !sm.shared<64x64xf32, 128>
    sm.roles {
      compute warps 4 registers 232 {
        sm.write %x, %buffer staggered : tensor<64x64xf32, #c>, !sm.shared<64x64xf32, 128>
        sm.tma_add %buffer layout #c, %v at %zero, %zero : !sm.shared<64x64xf32, 128>, !tile.view<2xf32>
        %a = sm.alloc : !sm.shared<64x64xbf16, 128>
        sm.write %y, %a : tensor<64x64xbf16, #c>, !sm.shared<64x64xbf16, 128>
      }
      load warps 1 registers 40 {
      }
    }
    return
  }
}

// -----

// Each role of more than one warp has a named barrier, then the turns of each role have one for each warpgroup, then each
// channel by_barriers has one more than it has writing warpgroups. Barrier 0 is that of the thread block.
// CHECK-LABEL: func @named_barriers
// CHECK: sm.channel %{{.*}} words 0 {first_barrier = 6 : i64}
// CHECK: sm.channel %{{.*}} words 0 {first_barrier = 9 : i64}
// CHECK: compute warps 8 registers 128 barrier 1 turns 3 {
// CHECK: more warps 4 registers 104 barrier 2 turns 5 {
// CHECK: load warps 1 registers 40 {
func.func @named_barriers(%r: !sm.shared<1x64x64xf32, 128>) {
  %a = sm.channel %r from compute to [load] by_barriers words 0 : !sm.channel<1, !sm.shared<64x64xf32, 128>>
  %b = sm.channel %r from more to [load] by_barriers words 0 : !sm.channel<1, !sm.shared<64x64xf32, 128>>
  sm.roles {
    compute warps 8 registers 128 {
      sm.sequence_init
    }
    more warps 4 registers 104 {
      sm.sequence_init
    }
    load warps 1 registers 40 {
    }
  }
  return
}

// -----

module attributes {tile.instances_per_sm = 2 : i64} {
  func.func @more_columns_than_there_are() {
    %a = sm.tensor_alloc : !sm.tensor_memory<1, 128, 256>
    %b = sm.tensor_alloc : !sm.tensor_memory<1, 128, 96>
    // expected-error @+1 {{needs 384 columns of tensor memory for each of 2 program instances; a multiprocessor has 512}}
    sm.roles {
      compute warps 4 registers 104 {
      }
      load warps 1 registers 40 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>
!ring = !sm.channel<1, !tile, !tile>

// Each part of a slot has a ring of its own, which is in use until its own tile has been read. The buffer that is
// written between the two reads gets the memory of the first part.
// CHECK: tile.shared_bytes = 16384 : i64
// CHECK-LABEL: func @parts
// CHECK: sm.alloc {offset = 0 : i64} : !sm.shared<1x64x64
// CHECK: sm.alloc {offset = 8192 : i64} : !sm.shared<1x64x64
// CHECK: sm.alloc {offset = 0 : i64} : !sm.shared<64x64
module attributes {tile.num_warps = 4 : i64} {
  func.func @parts(%k: !tile.view<2xbf16>, %x: tensor<64x64xbf16, #c>, %i: index) {
    %zero = arith.constant 0 : i32
    %as = sm.alloc : !sm.shared<1x64x64xbf16, 128>
    %bs = sm.alloc : !sm.shared<1x64x64xbf16, 128>
    %ab = sm.channel %as, %bs from load to [compute] : !ring
    sm.roles {
      compute warps 4 registers 240 {
        %a, %b = sm.consumer_wait %ab[%zero] phase %zero : !ring
        %p = sm.read %a : !tile -> tensor<64x64xbf16, #c>
        %o = sm.alloc : !tile
        sm.write %p, %o : tensor<64x64xbf16, #c>, !tile
        %q = sm.read %b : !tile -> tensor<64x64xbf16, #c>
        sm.write %q, %o : tensor<64x64xbf16, #c>, !tile
      }
      load warps 1 registers 32 {
        sm.producer_load %k[%i, %i] [64, 64], %ab[%zero] phase %zero : !tile.view<2xbf16>, !ring
        sm.producer_load %k[%i, %i] [64, 64], %ab[%zero] phase %zero part 1 : !tile.view<2xbf16>, !ring
      }
    }
    return
  }
}
