// RUN: tegula-opt --insert-barriers --split-input-file --verify-diagnostics %s | FileCheck %s

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>

// One barrier comes after the writes of two tiles, and another one before a write to the memory of the first tile.
// CHECK-LABEL: func @straight_line
// CHECK-COUNT-2: sm.write
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: sm.mma
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: sm.write
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: sm.copy_out
// CHECK-NEXT: return
func.func @straight_line(%x: tensor<64x64xbf16, #c>, %y: !tile.view<2xbf16>, %i: index) {
  %a = sm.alloc {offset = 0} : !tile
  %b = sm.alloc {offset = 8192} : !tile
  %overlapping = sm.alloc {offset = 4096} : !tile
  sm.write %x, %a : tensor<64x64xbf16, #c>, !tile
  sm.write %x, %b : tensor<64x64xbf16, #c>, !tile
  %p = sm.mma %a, %b depth 64 : !tile, !tile -> tensor<64x64xf32, #c>
  sm.write %x, %overlapping : tensor<64x64xbf16, #c>, !tile
  sm.copy_out %overlapping, %y[%i, %i] [64, 64] : !tile, !tile.view<2xbf16>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>
!ring = !sm.shared<3x64x64xbf16, 128>

// A pipelined loop needs one barrier per iteration, after its wait. It orders the reads of the last iteration before
// the new copies, and the finished copies before their readers. The tile that each iteration writes needs another
// barrier; the next write to it comes after the first barrier. The outer loop needs a barrier between its last readers
// and its next copies.
// CHECK-LABEL: func @pipelined
// CHECK-NOT: sm.barrier
// CHECK: scf.for
// CHECK-NEXT: sm.alloc
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: scf.if
// CHECK-NOT: sm.barrier
// CHECK: scf.for
// CHECK-NEXT: sm.wait %{{.*}}
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: scf.if
// CHECK-NOT: sm.barrier
// CHECK: sm.mma
// CHECK: sm.write
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: sm.mma
// CHECK-NOT: sm.barrier
// CHECK: return
func.func @pipelined(%k: !tile.view<2xbf16>, %n: index, %slot: i32, %more: i1, %x: tensor<64x64xbf16, #c>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %ring = sm.alloc {offset = 0} : !ring
    scf.if %more {
      %a = sm.slot %ring[%slot] : !ring -> !tile
      sm.copy_in %k[%i, %c0] [64, 64], %a : !tile.view<2xbf16>, !tile
    }
    %g0 = sm.commit
    scf.if %more {
      %a = sm.slot %ring[%slot] : !ring -> !tile
      sm.copy_in %k[%i, %c0] [64, 64], %a : !tile.view<2xbf16>, !tile
    }
    %g1 = sm.commit
    scf.for %j = %c0 to %n step %c1 iter_args(%old = %g0, %young = %g1) -> (!sm.copies, !sm.copies) {
      sm.wait %old
      scf.if %more {
        %a = sm.slot %ring[%slot] : !ring -> !tile
        sm.copy_in %k[%j, %c0] [64, 64], %a : !tile.view<2xbf16>, !tile
      }
      %g2 = sm.commit
      %b = sm.slot %ring[%slot] : !ring -> !tile
      %p = sm.mma %b, %b depth 64 : !tile, !tile -> tensor<64x64xf32, #c>
      %s = sm.alloc {offset = 24576} : !tile
      sm.write %x, %s : tensor<64x64xbf16, #c>, !tile
      %q = sm.mma %s, %b depth 64 : !tile, !tile -> tensor<64x64xf32, #c>
      scf.yield %young, %g2 : !sm.copies, !sm.copies
    }
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>
!ring = !sm.shared<2x64x64xbf16, 128>

// A wait moves down to the next access to the copied bytes, and the barrier with it. No barrier is needed for bytes
// that are not accessed again, or for the ring of a loop that has ended.
// CHECK-LABEL: func @waits_sink
// CHECK: scf.for
// CHECK: sm.mma
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: sm.write %{{.*}}, %[[OTHER:.*]] :
// CHECK-NEXT: sm.wait %{{.*}}
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: sm.write
// CHECK-NEXT: sm.copy_in
// CHECK-NEXT: sm.commit
// CHECK-NEXT: sm.write %{{.*}}, %[[OTHER]]
// CHECK-NEXT: sm.wait %{{.*}}
// CHECK-NEXT: return
func.func @waits_sink(%k: !tile.view<2xbf16>, %n: index, %slot: i32, %more: i1, %x: tensor<64x64xbf16, #c>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = sm.alloc {offset = 0} : !tile
  %ring = sm.alloc {offset = 8192} : !ring
  %other = sm.alloc {offset = 24576} : !tile
  %last = sm.alloc {offset = 32768} : !tile
  sm.copy_in %k[%c0, %c0] [64, 64], %q : !tile.view<2xbf16>, !tile
  %of_q = sm.commit joins_next
  scf.if %more {
    %a = sm.slot %ring[%slot] : !ring -> !tile
    sm.copy_in %k[%c0, %c0] [64, 64], %a : !tile.view<2xbf16>, !tile
  }
  %g0 = sm.commit
  scf.for %j = %c0 to %n step %c1 iter_args(%old = %g0) -> !sm.copies {
    sm.wait %old, %of_q
    scf.if %more {
      %a = sm.slot %ring[%slot] : !ring -> !tile
      sm.copy_in %k[%j, %c0] [64, 64], %a : !tile.view<2xbf16>, !tile
    }
    %g1 = sm.commit
    %b = sm.slot %ring[%slot] : !ring -> !tile
    %p = sm.mma %b, %q depth 64 : !tile, !tile -> tensor<64x64xf32, #c>
    scf.yield %g1 : !sm.copies
  }
  sm.wait %of_q
  sm.write %x, %other : tensor<64x64xbf16, #c>, !tile
  sm.write %x, %q : tensor<64x64xbf16, #c>, !tile
  sm.copy_in %k[%c1, %c0] [64, 64], %last : !tile.view<2xbf16>, !tile
  %of_last = sm.commit
  sm.wait %of_last
  sm.write %x, %other : tensor<64x64xbf16, #c>, !tile
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>

// The copies of the next iteration conflict with the reads of this one. One barrier before the branch serves both of
// its sides.
// CHECK-LABEL: func @around_a_loop
// CHECK: scf.for
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: scf.if
// CHECK-NEXT: sm.copy_in
// CHECK: sm.commit
// CHECK-NEXT: sm.wait %{{.*}}
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: sm.mma
// CHECK-NEXT: }
func.func @around_a_loop(%k: !tile.view<2xbf16>, %n: index, %more: i1, %x: tensor<64x64xbf16, #c>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = sm.alloc {offset = 0} : !tile
  scf.for %i = %c0 to %n step %c1 {
    scf.if %more {
      sm.copy_in %k[%i, %c0] [64, 64], %a : !tile.view<2xbf16>, !tile
    } else {
      sm.write %x, %a : tensor<64x64xbf16, #c>, !tile
    }
    %copies = sm.commit
    sm.wait %copies
    %p = sm.mma %a, %a depth 64 : !tile, !tile -> tensor<64x64xf32, #c>
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>

// A loop that only reads needs no barrier for what was written before it. The barrier in the branch may not run, so the
// last write still needs a barrier after the loop's readers.
// CHECK-LABEL: func @barrier_before_a_loop
// CHECK: sm.write
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: scf.for
// CHECK-NOT: sm.barrier
// CHECK: scf.if
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: }
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: sm.write
func.func @barrier_before_a_loop(%n: index, %some: i1, %x: tensor<64x64xbf16, #c>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = sm.alloc {offset = 0} : !tile
  sm.write %x, %a : tensor<64x64xbf16, #c>, !tile
  scf.for %i = %c0 to %n step %c1 {
    %p = sm.mma %a, %a depth 64 : !tile, !tile -> tensor<64x64xf32, #c>
  }
  scf.if %some {
    sm.barrier
  }
  sm.write %x, %a : tensor<64x64xbf16, #c>, !tile
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>

// The regions of a loop run one after another, and then again.
// CHECK-LABEL: func @regions_of_a_loop
// CHECK: scf.while
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: sm.mma
// CHECK-NEXT: scf.condition
// CHECK: ^bb0
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: sm.write
// CHECK-NEXT: scf.yield
// CHECK: sm.barrier
// CHECK-NEXT: sm.write
func.func @regions_of_a_loop(%more: i1, %i: index, %x: tensor<64x64xbf16, #c>) {
  %a = sm.alloc {offset = 0} : !tile
  scf.while : () -> index {
    %p = sm.mma %a, %a depth 64 : !tile, !tile -> tensor<64x64xf32, #c>
    scf.condition(%more) %i : index
  } do {
  ^bb0(%j: index):
    sm.write %x, %a : tensor<64x64xbf16, #c>, !tile
    scf.yield
  }
  sm.write %x, %a : tensor<64x64xbf16, #c>, !tile
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>

// All threads meet at an addition in a turn.
// CHECK-LABEL: func @turn
// CHECK: sm.write
// CHECK-NEXT: tile.atomic_add
// CHECK-NEXT: sm.mma
func.func @turn(%sum: !tile.view<2xf32>, %turns: !tile.view<1xi32>, %i: index, %n: i32, %x: tensor<64x64xbf16, #c>,
                %y: tensor<64x64xf32, #c>) -> tensor<64x64xf32, #c> {
  %a = sm.alloc {offset = 0} : !tile
  sm.write %x, %a : tensor<64x64xbf16, #c>, !tile
  tile.atomic_add %y, %sum[%i, %i] turn %n of %turns[%i] next %n
    : tensor<64x64xf32, #c>, !tile.view<2xf32>, !tile.view<1xi32>
  %p = sm.mma %a, %a depth 64 : !tile, !tile -> tensor<64x64xf32, #c>
  return %p : tensor<64x64xf32, #c>
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

!tile = !sm.shared<64x64xbf16, 128>

// A store to a channel by_barriers waits for the reading role, not for other warps, so it orders nothing.
// CHECK-LABEL: func @handed_over
// CHECK: sm.write
// CHECK-NEXT: sm.producer_store
// CHECK-NEXT: sm.barrier{{$}}
// CHECK-NEXT: sm.mma
module attributes {tile.num_warps = 4 : i64} {
  func.func @handed_over(%zero: i32, %x: tensor<64x64xbf16, #c>, %y: tensor<64x64xf32, #c>) {
    %a = sm.alloc {offset = 0} : !tile
    %b = sm.alloc {offset = 8192} : !sm.shared<1x64x64xf32, 128>
    %to = sm.channel %b from compute to [add] by_barriers words 0 : !sm.channel<1, !sm.shared<64x64xf32, 128>>
    sm.roles {
      compute warps 4 registers 232 {
        sm.write %x, %a : tensor<64x64xbf16, #c>, !tile
        sm.producer_store %y, %to[%zero] phase %zero : tensor<64x64xf32, #c>, !sm.channel<1, !sm.shared<64x64xf32, 128>>
        %p = sm.mma %a, %a depth 64 : !tile, !tile -> tensor<64x64xf32, #c>
      }
      add warps 1 registers 40 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

!tile = !sm.shared<64x64xbf16, 128>

// `tile.next_work` is a barrier.
// CHECK-LABEL: func @next_work
// CHECK: tile.next_work
// CHECK: ^bb0
// CHECK-NEXT: sm.write
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: sm.mma
// CHECK-NEXT: scf.yield
func.func @next_work(%counter: !tile.view<1xi32>, %last: i32, %x: tensor<64x64xbf16, #c>) {
  %a = sm.alloc {offset = 0} : !tile
  scf.while : () -> i32 {
    %number = tile.next_work %counter : !tile.view<1xi32>
    %more = arith.cmpi slt, %number, %last : i32
    scf.condition(%more) %number : i32
  } do {
  ^bb0(%j: i32):
    sm.write %x, %a : tensor<64x64xbf16, #c>, !tile
    %p = sm.mma %a, %a depth 64 : !tile, !tile -> tensor<64x64xf32, #c>
    scf.yield
  } attributes {tile.parallel}
  return
}

// -----

#r = #sm.layout<registers = [0:2:1], lanes = [0:32:2], warps = [*:4]>

// Tensors that the program both reads and writes need barriers like shared memory. Additions need no order among each
// other.
// CHECK-LABEL: func @global_memory
// CHECK: tile.load
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.load %arg1
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: tile.load
// CHECK: scf.for
// CHECK-NOT: sm.barrier
// CHECK: return
func.func @global_memory(%x: !tile.view<2xf32>, %y: !tile.view<1xf32>, %sum: !tile.view<1xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = tile.slice %x[%c0] : !tile.view<2xf32> -> !tile.view<1xf32>
  %next = tile.slice %x[%c1] : !tile.view<2xf32> -> !tile.view<1xf32>
  %a = tile.load %next[%c0] : !tile.view<1xf32> -> tensor<64xf32, #r>
  tile.store %a, %row[%c0] : tensor<64xf32, #r>, !tile.view<1xf32>
  %b = tile.load %y[%c0] : !tile.view<1xf32> -> tensor<64xf32, #r>
  %c = tile.load %row[%c0] : !tile.view<1xf32> -> tensor<64xf32, #r>
  scf.for %i = %c0 to %n step %c1 {
    tile.atomic_add %a, %sum[%c0] : tensor<64xf32, #r>, !tile.view<1xf32>
    tile.atomic_add %b, %sum[%i] : tensor<64xf32, #r>, !tile.view<1xf32>
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// If view, layout and position agree, each thread meets only what it has stored itself. This also holds in another loop
// over the same tiles, which do not overlap.
// CHECK-LABEL: func @elements_of_one_thread
// CHECK-NOT: sm.barrier
// CHECK: return
func.func @elements_of_one_thread(%x: !tile.view<2xf32>, %n: index, %tile: tensor<64x64xf32, #c>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %n step %c64 {
    tile.store %tile, %x[%i, %c0] : tensor<64x64xf32, #c>, !tile.view<2xf32>
  }
  scf.for %i = %c0 to %n step %c64 {
    %a = tile.load %x[%i, %c0] : !tile.view<2xf32> -> tensor<64x64xf32, #c>
    tile.store %a, %x[%i, %c0] : tensor<64x64xf32, #c>, !tile.view<2xf32>
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#d = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [1:4:16]>
#r = #sm.layout<registers = [0:2:1], lanes = [0:32:2], warps = [*:4]>

// Threads meet elements of other threads if the layout differs, if tiles overlap or begin elsewhere, or if several
// threads load what one of them has stored.
// CHECK-LABEL: func @elements_of_several_threads
// CHECK: tile.store
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: tile.load
// CHECK: scf.for
// CHECK: sm.barrier
// CHECK-NEXT: tile.store
// CHECK: sm.barrier
// CHECK-NEXT: scf.for
// CHECK-NEXT: tile.load
// CHECK: tile.store
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: tile.load
func.func @elements_of_several_threads(%x: !tile.view<2xf32>, %y: !tile.view<2xf32>, %l: !tile.view<1xf32>, %n: index,
                                       %lo: index, %tile: tensor<64x64xf32, #c>, %row: tensor<64xf32, #r>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  tile.store %tile, %x[%c0, %c0] : tensor<64x64xf32, #c>, !tile.view<2xf32>
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<64x64xf32, #d>
  scf.for %i = %c0 to %n step %c32 {
    tile.store %tile, %y[%i, %c0] : tensor<64x64xf32, #c>, !tile.view<2xf32>
  }
  scf.for %i = %lo to %n step %c64 {
    %b = tile.load %y[%i, %c0] : !tile.view<2xf32> -> tensor<64x64xf32, #c>
  }
  tile.store %row, %l[%c0] : tensor<64xf32, #r>, !tile.view<1xf32>
  %c = tile.load %l[%c0] : !tile.view<1xf32> -> tensor<64xf32, #r>
  return
}

// -----

#r = #sm.layout<registers = [0:2:8], lanes = [*:4, 0:8:1], warps = [0:4:16]>

// Several threads load what one of them stores, but all of them are in one warp. A barrier of the warp is enough, and
// serves all accesses before it.
// CHECK-LABEL: func @elements_of_one_warp
// CHECK-COUNT-2: tile.load
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.store
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: tile.load
// CHECK-NEXT: return
func.func @elements_of_one_warp(%l: !tile.view<1xf32>, %m: !tile.view<1xf32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %l[%c0] : !tile.view<1xf32> -> tensor<64xf32, #r>
  %b = tile.load %m[%c0] : !tile.view<1xf32> -> tensor<64xf32, #r>
  tile.store %b, %l[%c0] : tensor<64xf32, #r>, !tile.view<1xf32>
  tile.store %a, %m[%c0] : tensor<64xf32, #r>, !tile.view<1xf32>
  %c = tile.load %l[%c0] : !tile.view<1xf32> -> tensor<64xf32, #r>
  return
}

// In a loop, the loads of the next iteration come after the stores of this one.
// CHECK-LABEL: func @warps_in_a_loop
// CHECK: scf.for
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: tile.load
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: tile.store
// CHECK-NEXT: }
func.func @warps_in_a_loop(%l: !tile.view<1xf32>, %i: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %j = %c0 to %n step %c1 {
    %a = tile.load %l[%i] : !tile.view<1xf32> -> tensor<64xf32, #r>
    tile.store %a, %l[%i] : tensor<64xf32, #r>, !tile.view<1xf32>
  }
  return
}

// -----

#r = #sm.layout<registers = [0:2:8], lanes = [*:4, 0:8:1], warps = [0:4:16]>
#all = #sm.layout<registers = [], lanes = [0:16:1, *:2], warps = [*:4]>

// Only the first warp has rows of a tile of 16 rows, at any position. Of a tile that all warps hold, only the first
// warp stores its replica, but all of them load.
// CHECK-LABEL: func @elements_of_the_first_warp
// CHECK: tile.store
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: tile.load
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: tile.store
// CHECK-NEXT: sm.barrier{{$}}
// CHECK-NEXT: tile.load
func.func @elements_of_the_first_warp(%l: !tile.view<1xf32>, %x: tensor<16xf32, #all>, %i: index, %j: index) {
  tile.store %x, %l[%i] : tensor<16xf32, #all>, !tile.view<1xf32>
  %a = tile.load %l[%j] : !tile.view<1xf32> -> tensor<16xf32, #r>
  tile.store %a, %l[%i] : tensor<16xf32, #r>, !tile.view<1xf32>
  %b = tile.load %l[%j] : !tile.view<1xf32> -> tensor<16xf32, #all>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>
!ring = !sm.shared<2x64x64xbf16, 128>

// If another barrier comes before the access that the wait is for, the copies have time until then. Later copies may
// already be in flight at that point.
// CHECK-LABEL: func @waits_for_the_last_barrier
// CHECK: scf.for {{.*}} iter_args(%[[OLD:.*]] = %{{.*}})
// CHECK-NEXT: sm.slot
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: sm.copy_in
// CHECK-NEXT: sm.commit
// CHECK-NEXT: sm.write
// CHECK-NEXT: sm.slot
// CHECK-NEXT: sm.wait %[[OLD]]{{$}}
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: sm.mma
func.func @waits_for_the_last_barrier(%k: !tile.view<2xbf16>, %n: index, %slot: i32, %x: tensor<64x64xbf16, #c>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ring = sm.alloc {offset = 0} : !ring
  %p = sm.alloc {offset = 16384} : !tile
  %first = sm.slot %ring[%slot] : !ring -> !tile
  sm.copy_in %k[%c0, %c0] [64, 64], %first : !tile.view<2xbf16>, !tile
  %g0 = sm.commit
  scf.for %j = %c0 to %n step %c1 iter_args(%old = %g0) -> !sm.copies {
    sm.wait %old
    %a = sm.slot %ring[%slot] : !ring -> !tile
    sm.copy_in %k[%j, %c0] [64, 64], %a : !tile.view<2xbf16>, !tile
    %g1 = sm.commit
    sm.write %x, %p : tensor<64x64xbf16, #c>, !tile
    %b = sm.slot %ring[%slot] : !ring -> !tile
    %s = sm.mma %b, %p depth 64 : !tile, !tile -> tensor<64x64xf32, #c>
    scf.yield %g1 : !sm.copies
  }
  return
}

// -----

#w = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>

// Warps that copy their own rows need only a barrier of the warp, and so do the iterations of a parallel loop.
// CHECK-LABEL: func @rows_of_warps
// CHECK: scf.for
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.write
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.copy_out
// CHECK-NEXT: }
func.func @rows_of_warps(%tile: tensor<64x64xbf16, #w>, %y: !tile.view<2xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %staged = sm.alloc {offset = 0 : i64} : !tile
  scf.for %i = %c0 to %n step %c1 {
    sm.write %tile, %staged : tensor<64x64xbf16, #w>, !tile
    sm.copy_out %staged, %y[%i, %c0] [64, 64] rows_of_warp 16 : !tile, !tile.view<2xbf16>
  } {tile.parallel}
  return
}

// One lane releases a slot for its warp, so the lanes meet before. This barrier orders the write after the copy, too.
// CHECK-LABEL: func @released_between
// CHECK: scf.for
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.release
// CHECK-NEXT: sm.write
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.copy_out
// CHECK-NEXT: }
func.func @released_between(%tile: tensor<64x64xbf16, #w>, %y: !tile.view<2xbf16>, %n: index, %slot: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %staged = sm.alloc {offset = 0 : i64} : !tile
  %b = sm.channel from load to [compute] : !sm.channel<2>
  sm.roles {
    compute warps 4 registers 232 {
      scf.for %i = %c0 to %n step %c1 {
        sm.release %b[%slot] per_warp : !sm.channel<2>
        sm.write %tile, %staged : tensor<64x64xbf16, #w>, !tile
        sm.copy_out %staged, %y[%i, %c0] [64, 64] rows_of_warp 16 : !tile, !tile.view<2xbf16>
      } {tile.parallel}
    }
    load warps 1 registers 40 {
    }
  }
  return
}

// If only an MMA has read the slot, the lanes of the warp do not meet at the release, so the barrier is needed.
// CHECK-LABEL: func @released_after_an_mma
// CHECK: scf.for
// CHECK: sm.await
// CHECK-NEXT: sm.release
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.write
func.func @released_after_an_mma(%tile: tensor<64x64xbf16, #w>, %y: !tile.view<2xbf16>, %n: index, %slot: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %staged = sm.alloc {offset = 0 : i64} : !tile
  %ring = sm.alloc {offset = 8192 : i64} : !sm.shared<2x64x64xbf16, 128>
  %b = sm.channel %ring from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
  sm.roles {
    compute warps 4 registers 232 {
      scf.for %i = %c0 to %n step %c1 {
        %k = sm.consumer_wait %b[%slot] phase %slot : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
        %f = sm.wgmma %k, %k depth 64 : !tile, !tile -> !sm.inflight<tensor<64x64xf32, #w>>
        %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #w>>
        sm.release %b[%slot] per_warp : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
        sm.write %tile, %staged : tensor<64x64xbf16, #w>, !tile
        sm.copy_out %staged, %y[%i, %c0] [64, 64] rows_of_warp 16 : !tile, !tile.view<2xbf16>
      } {tile.parallel}
    }
    load warps 1 registers 40 {
    }
  }
  return
}

// In a loop that is not marked as parallel, two iterations may write one element of the tensor. If copies take rows
// that other warps have written, warps meet in shared memory.
// CHECK-LABEL: func @rows_of_all
// CHECK: scf.for
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.write
// CHECK-NEXT: sm.barrier{{$}}
// CHECK-NEXT: sm.copy_out
// CHECK: scf.for
// CHECK-NEXT: sm.barrier{{$}}
// CHECK-NEXT: sm.write
// CHECK-NEXT: sm.barrier{{$}}
// CHECK-NEXT: sm.copy_out
func.func @rows_of_all(%tile: tensor<64x64xbf16, #w>, %x: !tile.view<2xbf16>, %y: !tile.view<2xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = sm.alloc {offset = 0 : i64} : !tile
  %b = sm.alloc {offset = 8192 : i64} : !tile
  scf.for %i = %c0 to %n step %c1 {
    sm.write %tile, %a : tensor<64x64xbf16, #w>, !tile
    sm.copy_out %a, %x[%i, %c0] [64, 64] rows_of_warp 16 : !tile, !tile.view<2xbf16>
  }
  scf.for %i = %c0 to %n step %c1 {
    sm.write %tile, %b : tensor<64x64xbf16, #w>, !tile
    sm.copy_out %b, %y[%i, %c0] [64, 64] rows_of_warp 32 : !tile, !tile.view<2xbf16>
  } {tile.parallel}
  return
}

// -----

#w = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>

// In an sm.mma, a warp reads the rows of its left operand that it has written itself, unless the operand is transposed.
// CHECK-LABEL: func @left_operands
// CHECK: sm.write
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.mma
// CHECK-NEXT: sm.barrier{{$}}
// CHECK-NEXT: sm.mma
func.func @left_operands(%tile: tensor<64x64xbf16, #w>) {
  %a = sm.alloc {offset = 0 : i64} : !tile
  %b = sm.alloc {offset = 8192 : i64} : !tile
  sm.write %tile, %a : tensor<64x64xbf16, #w>, !tile
  %p = sm.mma %a, %b depth 64 : !tile, !tile -> tensor<64x64xf32, #w>
  %q = sm.mma %a, %b depth 64 {transpose_lhs} : !tile, !tile -> tensor<64x64xf32, #w>
  return
}

// In an MMA, each warp reads its own rows of the left operand, and all of the right operand. It therefore matters which
// operand's memory is overwritten.
// CHECK-LABEL: func @places_of_operands
// CHECK-NOT: sm.barrier
// CHECK: sm.write {{.*}} %[[LEFT:.*]] :
// CHECK: %[[RIGHT:.*]] = sm.alloc {offset = 8192
// CHECK: sm.barrier
// CHECK-NEXT: sm.write {{.*}} %[[RIGHT]] :
func.func @places_of_operands(%tile: tensor<64x64xbf16, #w>) {
  %q = sm.alloc {offset = 0 : i64} : !tile
  %k = sm.alloc {offset = 8192 : i64} : !tile
  %p = sm.wgmma %q, %k depth 64 {transpose_rhs} : !tile, !tile -> !sm.inflight<tensor<64x64xf32, #w>>
  %s = sm.await %p : !sm.inflight<tensor<64x64xf32, #w>>
  %left = sm.alloc {offset = 0 : i64} : !tile
  sm.write %tile, %left : tensor<64x64xbf16, #w>, !tile
  %right = sm.alloc {offset = 8192 : i64} : !tile
  sm.write %tile, %right : tensor<64x64xbf16, #w>, !tile
  return
}

// An MMA of a warpgroup reads what lanes wrote only behind a fence and a barrier, also the rows that a warp writes for
// itself.
// CHECK-LABEL: func @rows_of_the_same_warps
// CHECK: sm.write
// CHECK-NEXT: sm.proxy_fence
// CHECK-NEXT: sm.barrier{{ *$}}
// CHECK-NEXT: sm.wgmma
func.func @rows_of_the_same_warps(%tile: tensor<64x64xbf16, #w>) {
  %q = sm.alloc {offset = 0 : i64} : !tile
  %k = sm.alloc {offset = 8192 : i64} : !tile
  sm.write %tile, %q : tensor<64x64xbf16, #w>, !tile
  %p = sm.wgmma %q, %k depth 64 : !tile, !tile -> !sm.inflight<tensor<64x64xf32, #w>>
  %s = sm.await %p : !sm.inflight<tensor<64x64xf32, #w>>
  return
}

// Any thread may clear the part of a buffer that is not of the tile, also rows that another warp has read.
// CHECK-LABEL: func @write_of_a_narrow_tile
// CHECK: sm.barrier{{ *$}}
// CHECK-NEXT: sm.write
func.func @write_of_a_narrow_tile(%tile: tensor<64x32xbf16, #w>) -> tensor<64x64xbf16, #w> {
  %a = sm.alloc {offset = 0 : i64} : !tile
  %read = sm.read %a : !tile -> tensor<64x64xbf16, #w>
  %b = sm.alloc {offset = 0 : i64} : !tile
  sm.write %tile, %b : tensor<64x32xbf16, #w>, !tile
  return %read : tensor<64x64xbf16, #w>
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// If an outer loop computes the first row of the tiles, the tiles of its next iteration differ.
// CHECK-LABEL: func @tiles_of_an_iteration
// CHECK: scf.for
// CHECK-NEXT: arith.muli
// CHECK-NEXT: sm.barrier
// CHECK-NEXT: scf.for
// CHECK-NEXT: tile.load
// CHECK-NEXT: tile.store
// CHECK-NEXT: }
// CHECK-NEXT: tile.load
// CHECK-NEXT: tile.store
func.func @tiles_of_an_iteration(%x: !tile.view<2xf32>, %y: !tile.view<2xf32>, %n: index, %rows: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %n step %c64 {
    %first = arith.muli %i, %rows : index
    scf.for %j = %first to %n step %c64 {
      %a = tile.load %x[%j, %c0] : !tile.view<2xf32> -> tensor<64x64xf32, #c>
      tile.store %a, %x[%j, %c0] : tensor<64x64xf32, #c>, !tile.view<2xf32>
    }
    %b = tile.load %y[%first, %c0] : !tile.view<2xf32> -> tensor<64x64xf32, #c>
    tile.store %b, %y[%first, %c0] : tensor<64x64xf32, #c>, !tile.view<2xf32>
  }
  return
}

// A warp copies its rows to where it has loaded them. Rows that begin elsewhere belong to other warps.
// CHECK-LABEL: func @rows_from_and_to_a_tensor
// CHECK: tile.load
// CHECK-NEXT: sm.write
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.copy_out
// CHECK-NEXT: sm.barrier{{$}}
// CHECK-NEXT: sm.copy_out
func.func @rows_from_and_to_a_tensor(%x: !tile.view<2xf32>, %i: index, %j: index) {
  %c0 = arith.constant 0 : index
  %staged = sm.alloc {offset = 0 : i64} : !sm.shared<64x64xf32, 128>
  %a = tile.load %x[%i, %c0] : !tile.view<2xf32> -> tensor<64x64xf32, #c>
  sm.write %a, %staged : tensor<64x64xf32, #c>, !sm.shared<64x64xf32, 128>
  sm.copy_out %staged, %x[%i, %c0] [64, 64] rows_of_warp 16 : !sm.shared<64x64xf32, 128>, !tile.view<2xf32>
  sm.copy_out %staged, %x[%j, %c0] [64, 64] rows_of_warp 16 : !sm.shared<64x64xf32, 128>, !tile.view<2xf32>
  return
}

// -----

#w = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#n = #sm.layout<registers = [1:2:1, 0:2:8, 1:4:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!narrow = !sm.shared<64x32xf32, 128>
!wide = !sm.shared<64x64xf32, 128>
!other = !sm.shared<64x32xf32, 64>

// Tiles that use the same memory one after another. If their types are equal, the same thread writes each element. If
// only their widths differ, a row belongs to the same warp, as long as the panels are equal and begin together.
// CHECK-LABEL: func @places_taken_again
// CHECK: sm.write
// CHECK-NEXT: sm.alloc
// CHECK-NEXT: sm.write
// CHECK-NEXT: sm.alloc
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.write
// CHECK-NEXT: sm.alloc
// CHECK-NEXT: sm.barrier{{$}}
// CHECK-NEXT: sm.write
// CHECK-NEXT: sm.alloc
// CHECK-NEXT: sm.barrier{{$}}
// CHECK-NEXT: sm.write
func.func @places_taken_again(%x: tensor<64x32xf32, #n>, %y: tensor<64x64xf32, #w>) {
  %a = sm.alloc {offset = 0 : i64} : !narrow
  sm.write %x, %a : tensor<64x32xf32, #n>, !narrow
  %b = sm.alloc {offset = 0 : i64} : !narrow
  sm.write %x, %b : tensor<64x32xf32, #n>, !narrow
  %c = sm.alloc {offset = 0 : i64} : !wide
  sm.write %y, %c : tensor<64x64xf32, #w>, !wide
  %d = sm.alloc {offset = 0 : i64} : !other
  sm.write %x, %d : tensor<64x32xf32, #n>, !other
  %e = sm.alloc {offset = 2048 : i64} : !other
  sm.write %x, %e : tensor<64x32xf32, #n>, !other
  return
}

// -----

#rows = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#columns = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8, 0:4:16], lanes = [1:4:2, 0:8:1], warps = [1:4:16]>
!tile = !sm.shared<64x64xbf16, 128>

// If warps share the rows of an MMA, each reads its own columns of the right operand, or rows if that is transposed.
// All of them read the whole left operand.
// CHECK-LABEL: func @right_operands
// CHECK: sm.mma
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.write
// CHECK-NEXT: sm.barrier{{$}}
// CHECK-NEXT: sm.write
// CHECK: sm.mma
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.write
func.func @right_operands(%x: tensor<64x64xbf16, #columns>, %y: tensor<64x64xbf16, #rows>) {
  %a = sm.alloc {offset = 0 : i64} : !tile
  %b = sm.alloc {offset = 8192 : i64} : !tile
  %p = sm.mma %a, %b depth 64 : !tile, !tile -> tensor<64x64xf32, #columns>
  sm.write %x, %b : tensor<64x64xbf16, #columns>, !tile
  sm.write %x, %a : tensor<64x64xbf16, #columns>, !tile
  %q = sm.mma %b, %a depth 64 {transpose_rhs} : !tile, !tile -> tensor<64x64xf32, #columns>
  sm.write %y, %a : tensor<64x64xbf16, #rows>, !tile
  return
}

// -----

#w = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// One lane waits until TMA has read the rows of its warp. The others wait for that lane before they write again.
// The barrier before a store comes before the test whether TMA can make it.
// CHECK-LABEL: func @stored_by_tma
// CHECK: scf.for
// CHECK-NEXT: sm.tma_store_wait
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.write
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.fits
// CHECK-NEXT: scf.if
// CHECK-NEXT: sm.tma_store
// CHECK-NEXT: } else {
// CHECK-NEXT: sm.copy_out
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: sm.tma_store_wait
// CHECK-NEXT: }
!tile = !sm.shared<64x64xbf16, 128>
func.func @stored_by_tma(%o: !tile.view<2xbf16>, %n: index, %x: tensor<64x64xbf16, #w>) {
  sm.roles {
    compute warps 4 registers 240 {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %s = sm.alloc {offset = 0 : i64} : !tile
      scf.for %i = %c0 to %n step %c64 {
        sm.tma_store_wait %s : !tile
        sm.write %x, %s : tensor<64x64xbf16, #w>, !tile
        %fits = sm.fits %o at %c0, %i from !tile rows_of_warp 16 : !tile.view<2xbf16>
        scf.if %fits {
          sm.tma_store %s, %o[%i, %c0] rows_of_warp 16 : !tile, !tile.view<2xbf16>
        } else {
          sm.copy_out %s, %o[%i, %c0] [64, 64] rows_of_warp 16 : !tile, !tile.view<2xbf16>
        }
      }
      sm.tma_store_wait
    }
    load warps 1 registers 24 {
    }
  }
  return
}

// -----

#both = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16, 1:2:64]>

// One lane adds what its warp has written, though the warp has neither whole rows nor whole columns. The lanes of a warp
// meet before they write again, and other warps never wait.
// CHECK-LABEL: func @added_by_tma
// CHECK: scf.if
// CHECK-NEXT: sm.tma_store_wait
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.write
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.tma_add
// CHECK-NEXT: }
// CHECK-NOT: sm.barrier
!buffer = !sm.shared<64x128xf32, 128>
func.func @added_by_tma(%o: !tile.view<2xf32>, %n: index, %at: i32, %x: tensor<64x128xf32, #both>, %fits: i1) {
  sm.roles {
    compute warps 8 registers 240 {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %s = sm.alloc {offset = 0 : i64} : !buffer
      scf.for %i = %c0 to %n step %c64 {
        scf.if %fits {
          sm.tma_store_wait %s : !buffer
          sm.write %x, %s staggered : tensor<64x128xf32, #both>, !buffer
          sm.tma_add %s layout #both, %o at %at, %at : !buffer, !tile.view<2xf32>
        }
      }
      sm.tma_store_wait
    }
    load warps 1 registers 24 {
    }
  }
  return
}

// -----

func.func @not_planned() {
  // expected-error @+1 {{has no offset; plan-shared gives it one}}
  %a = sm.alloc : !sm.shared<64x64xbf16, 128>
  return
}

// -----

#rows = #sm.layout<registers = [1:32:1], lanes = [0:32:1], warps = [0:4:32]>

// One warp gives columns of tensor memory back, so a barrier comes after the reads of the others.
// CHECK-LABEL: func.func @columns_of_tensor_memory
// CHECK: sm.tensor_read
// CHECK-NEXT: tile.store
// CHECK-NEXT: sm.barrier{{$}}
// CHECK-NEXT: sm.tensor_free
func.func @columns_of_tensor_memory(%y: !tile.view<2xf32>, %slot: i32, %any: i1) {
  %c0 = arith.constant 0 : index
  %sums = sm.tensor_alloc : !sm.tensor_memory<1, 128, 32>
  %c = sm.tensor_read %sums[%slot] written %any : !sm.tensor_memory<1, 128, 32> -> tensor<128x32xf32, #rows>
  tile.store %c, %y[%c0, %c0] : tensor<128x32xf32, #rows>, !tile.view<2xf32>
  sm.tensor_free %sums : !sm.tensor_memory<1, 128, 32>
  return
}

// -----

// Lanes of a warp read what other lanes of the warp have copied to a slot.
// CHECK-LABEL: func @copied_by_consumers
// CHECK: sm.consumer_wait
// CHECK-NEXT: sm.is_loaded
// CHECK-NEXT: scf.if
// CHECK-NEXT: } else {
// CHECK-NEXT: sm.fallback_copy
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: }
// CHECK-NEXT: sm.read
// CHECK-NEXT: sm.proxy_fence
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.release
#w = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>
!ring = !sm.channel<1, !tile>
func.func @copied_by_consumers(%v: !tile.view<2xbf16>, %y: !tile.view<2xbf16>, %j: index, %i: i32) {
  %alloc = sm.alloc {offset = 0 : i64} : !sm.shared<1x64x64xbf16, 128>
  %b = sm.channel %alloc from load to [compute] : !ring
  sm.roles {
    compute warps 4 registers 232 {
      %k = sm.consumer_wait %b[%i] phase %i : !ring
      %loaded = sm.is_loaded %k, %v[%j, %j] : !tile, !tile.view<2xbf16>
      scf.if %loaded {
      } else {
        sm.fallback_copy %k, %v[%j, %j] [64, 64] rows_of_warp 16 : !tile, !tile.view<2xbf16>
      }
      %x = sm.read %k : !tile -> tensor<64x64xbf16, #w>
      sm.proxy_fence
      sm.release %b[%i] per_warp : !ring
      tile.store %x, %y[%j, %j] : tensor<64x64xbf16, #w>, !tile.view<2xbf16>
    }
    load warps 1 registers 40 {
    }
  }
  return
}
