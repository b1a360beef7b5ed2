// RUN: tegula-opt --allocate-shared --split-input-file %s | FileCheck %s

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>

// Each MMA waits only for its own operands: the second commit group may still run when the first MMA starts.
// CHECK-LABEL: func @waits_at_the_first_reader
// CHECK: %[[A:.*]] = sm.alloc
// CHECK-NEXT: sm.copy_in %arg0[%c0, %c0] [64, 64], %[[A]]
// CHECK-NEXT: %[[FIRST:.*]] = sm.commit{{$}}
// CHECK-NEXT: %[[B:.*]] = sm.alloc
// CHECK-NEXT: sm.copy_in %arg1[%c0, %c0] [64, 64], %[[B]]
// CHECK-NEXT: %[[SECOND:.*]] = sm.commit{{$}}
// CHECK-NEXT: sm.wait %[[FIRST]]{{$}}
// CHECK-NEXT: sm.mma %[[A]], %[[A]]
// CHECK-NEXT: sm.wait %[[SECOND]]{{$}}
// CHECK-NEXT: sm.mma %[[B]], %[[A]]
// CHECK-NEXT: return
func.func @waits_at_the_first_reader(%x: !tile.view<2xbf16>, %y: !tile.view<2xbf16>) {
  %c0 = arith.constant 0 : index
  %a = sm.load_shared %x[%c0, %c0] [64, 64] : !tile.view<2xbf16> -> !tile
  %b = sm.load_shared %y[%c0, %c0] [64, 64] : !tile.view<2xbf16> -> !tile
  %p = sm.mma %a, %a depth 64 : !tile, !tile -> tensor<64x64xf32, #c>
  %q = sm.mma %b, %a depth 64 : !tile, !tile -> tensor<64x64xf32, #c>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>

// The wait in the loop covers the group of the copy, so it names it, and no wait is added before the loop. The next
// group in the block comes after the loop. A wait after the loop ends the copy, because the loop may run zero times.
// CHECK-LABEL: func @a_later_groups_wait_covers_it
// CHECK: sm.copy_in
// CHECK-NEXT: %[[A:.*]] = sm.commit{{$}}
// CHECK: scf.for
// CHECK: %[[B:.*]] = sm.commit{{$}}
// CHECK-NEXT: sm.wait %[[B]], %[[A]]{{$}}
// CHECK: }
// CHECK-NEXT: sm.wait %[[A]]{{$}}
// CHECK-NEXT: sm.commit
// CHECK-NEXT: return
func.func @a_later_groups_wait_covers_it(%x: !tile.view<2xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = sm.load_shared %x[%c0, %c0] [64, 64] : !tile.view<2xbf16> -> !tile
  scf.for %i = %c0 to %n step %c1 {
    %b = sm.alloc : !tile
    sm.copy_in %x[%i, %c0] [64, 64], %b : !tile.view<2xbf16>, !tile
    %copies = sm.commit
    sm.wait %copies
    %p = sm.mma %a, %b depth 64 : !tile, !tile -> tensor<64x64xf32, #c>
  }
  %last = sm.commit
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>

// Both copies before the loop and the copy of the next commit become one group, because no wait tells them
// apart.
// CHECK-LABEL: func @one_group_where_no_wait_tells_them_apart
// CHECK: sm.copy_in
// CHECK: %[[A:.*]] = sm.commit joins_next
// CHECK: sm.copy_in
// CHECK: %[[B:.*]] = sm.commit joins_next
// CHECK: sm.copy_in
// CHECK: %[[C:.*]] = sm.commit{{$}}
// CHECK: scf.for {{.*}} iter_args(%[[CARRIED:.*]] = %[[C]])
// CHECK-NEXT: sm.wait %[[CARRIED]], %[[B]], %[[A]]{{$}}
// CHECK: sm.commit{{$}}
// CHECK: }
// CHECK-NEXT: sm.wait %[[B]], %[[A]]{{$}}
func.func @one_group_where_no_wait_tells_them_apart(%x: !tile.view<2xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = sm.load_shared %x[%c0, %c0] [64, 64] : !tile.view<2xbf16> -> !tile
  %b = sm.load_shared %x[%c1, %c0] [64, 64] : !tile.view<2xbf16> -> !tile
  %c = sm.alloc : !tile
  sm.copy_in %x[%c1, %c1] [64, 64], %c : !tile.view<2xbf16>, !tile
  %first = sm.commit
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%copies = %first) -> !sm.copies {
    sm.wait %copies
    sm.copy_in %x[%i, %c1] [64, 64], %c : !tile.view<2xbf16>, !tile
    %next = sm.commit
    %p = sm.mma %a, %b depth 64 : !tile, !tile -> tensor<64x64xf32, #c>
    scf.yield %next : !sm.copies
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>

// Either loop may run zero times, so the waits of both name the copy that both read, and so does one wait after them.
// The groups of the second loop are younger than the next group, too, so the copy joins it.
// CHECK-LABEL: func @a_copy_that_two_loops_read
// CHECK: %[[A:.*]] = sm.commit joins_next
// CHECK: %[[B:.*]] = sm.commit{{$}}
// CHECK: scf.for {{.*}} iter_args(%[[OLD:.*]] = %[[B]])
// CHECK-NEXT: sm.wait %[[OLD]], %[[A]]{{$}}
// CHECK: }
// CHECK-NOT: sm.wait
// CHECK: scf.for
// CHECK: %[[C:.*]] = sm.commit{{$}}
// CHECK-NEXT: sm.wait %[[C]], %[[A]]{{$}}
// CHECK: }
// CHECK-NEXT: sm.wait %[[A]]{{$}}
// CHECK-NEXT: return
func.func @a_copy_that_two_loops_read(%x: !tile.view<2xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = sm.load_shared %x[%c0, %c0] [64, 64] : !tile.view<2xbf16> -> !tile
  %b = sm.alloc : !tile
  sm.copy_in %x[%c1, %c1] [64, 64], %b : !tile.view<2xbf16>, !tile
  %first = sm.commit
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%old = %first) -> !sm.copies {
    sm.wait %old
    sm.copy_in %x[%i, %c1] [64, 64], %b : !tile.view<2xbf16>, !tile
    %next = sm.commit
    %p = sm.mma %a, %b depth 64 : !tile, !tile -> tensor<64x64xf32, #c>
    scf.yield %next : !sm.copies
  }
  scf.for %i = %c0 to %n step %c1 {
    sm.copy_in %x[%i, %c0] [64, 64], %b : !tile.view<2xbf16>, !tile
    %copies = sm.commit
    sm.wait %copies
    %p = sm.mma %a, %b depth 64 : !tile, !tile -> tensor<64x64xf32, #c>
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>

// One wait before the loop serves all iterations. The wait in the loop is for an older group.
// CHECK-LABEL: func @waits_before_a_loop_that_reads
// CHECK: %[[OLDER:.*]] = sm.commit{{$}}
// CHECK: %[[A:.*]] = sm.commit{{$}}
// CHECK: sm.wait %[[A]]{{$}}
// CHECK: scf.for
// CHECK-NEXT: sm.wait %[[OLDER]]{{$}}
func.func @waits_before_a_loop_that_reads(%x: !tile.view<2xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = sm.alloc : !tile
  sm.copy_in %x[%c1, %c1] [64, 64], %b : !tile.view<2xbf16>, !tile
  %older = sm.commit
  %a = sm.load_shared %x[%c0, %c0] [64, 64] : !tile.view<2xbf16> -> !tile
  scf.for %i = %c0 to %n step %c1 {
    sm.wait %older
    %p = sm.mma %a, %a depth 64 : !tile, !tile -> tensor<64x64xf32, #c>
  }
  return
}

// -----

!tile = !sm.shared<64x64xbf16, 128>

// The copy must finish before a store to the same tensor, because it reads what was there before. The copy of an
// iteration must finish before the iteration ends.
// CHECK-LABEL: func @waits_for_more_than_readers
// CHECK: sm.copy_in %arg0
// CHECK: %[[OTHER:.*]] = tile.slice %arg1
// CHECK-NEXT: tile.store %{{.*}}, %[[OTHER]]
// CHECK-NEXT: %[[SAME:.*]] = tile.slice %arg0
// CHECK-NEXT: sm.wait %{{.*}}
// CHECK-NEXT: tile.store %{{.*}}, %[[SAME]]
// CHECK: scf.for
// CHECK: sm.copy_in %arg1
// CHECK-NEXT: %[[B:.*]] = sm.commit{{$}}
// CHECK-NEXT: sm.wait %[[B]]{{$}}
// CHECK-NEXT: }
#v = #sm.layout<registers = [0:2:1], lanes = [0:32:2], warps = [*:4]>
func.func @waits_for_more_than_readers(%x: !tile.view<2xbf16>, %y: !tile.view<2xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64xbf16, #v>
  %a = sm.load_shared %x[%c0, %c0] [64, 64] : !tile.view<2xbf16> -> !tile
  %other = tile.slice %y[%c0] : !tile.view<2xbf16> -> !tile.view<1xbf16>
  tile.store %zero, %other[%c0] : tensor<64xbf16, #v>, !tile.view<1xbf16>
  %row = tile.slice %x[%c0] : !tile.view<2xbf16> -> !tile.view<1xbf16>
  tile.store %zero, %row[%c0] : tensor<64xbf16, #v>, !tile.view<1xbf16>
  scf.for %i = %c0 to %n step %c1 {
    %b = sm.load_shared %y[%i, %c0] [64, 64] : !tile.view<2xbf16> -> !tile
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#r = #sm.layout<registers = [1:8:1, 0:4:16], lanes = [1:8:8, 0:4:1], warps = [0:4:4]>
#f = #sm.layout<registers = [0:32:1], lanes = [0:32:32], warps = [0:4:1024]>
!tile = !sm.shared<64x64xbf16, 128>

// A tile goes to shared memory as soon as its value is known.
// CHECK-LABEL: func @tiles_from_registers
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK-NEXT: %[[HALF:.*]] = arith.truncf %[[SUM]]
// CHECK-NEXT: %[[S:.*]] = sm.alloc : !sm.shared<64x64xbf16, 128>
// CHECK-NEXT: sm.write %[[HALF]], %[[S]]
// CHECK: math.exp2
// CHECK: sm.mma %[[S]], %[[S]]
// CHECK: %[[C:.*]] = sm.alloc : !sm.shared<64x64xf32, 128>
// CHECK-NEXT: sm.write %arg0, %[[C]]
// CHECK-NEXT: sm.read %[[C]] : !sm.shared<64x64xf32, 128> -> tensor<64x64xf32, #{{.*}}>
// CHECK: %[[F:.*]] = sm.alloc : !sm.shared<64x64xf32, 0>
// CHECK-NEXT: sm.write %arg0, %[[F]]
// CHECK-NEXT: sm.read %[[F]] {reshaped} : !sm.shared<64x64xf32, 0> -> tensor<4096xf32, #{{.*}}>
// CHECK: %[[G:.*]] = sm.alloc : !sm.shared<64x64xf32, 128>
// CHECK-NEXT: sm.write %arg0, %[[G]]
// CHECK-NEXT: sm.read %[[G]] from 3 step 2 : !sm.shared<64x64xf32, 128> -> tensor<64x16xf32, #{{.*}}>
func.func @tiles_from_registers(%x: tensor<64x64xf32, #c>)
    -> (tensor<64x64xf32, #c>, tensor<64x64xf32, #r>, tensor<4096xf32, #f>, tensor<64x16xf32, #r>) {
  %sum = arith.addf %x, %x : tensor<64x64xf32, #c>
  %e = math.exp2 %x : tensor<64x64xf32, #c>
  %half = arith.truncf %sum : tensor<64x64xf32, #c> to tensor<64x64xbf16, #c>
  %s = sm.to_shared %half : tensor<64x64xbf16, #c> -> !tile
  %p = sm.mma %s, %s depth 64 acc %e : !tile, !tile, tensor<64x64xf32, #c> -> tensor<64x64xf32, #c>
  %c = sm.convert %x : tensor<64x64xf32, #c> -> tensor<64x64xf32, #r>
  %f = sm.reshape %x : tensor<64x64xf32, #c> -> tensor<4096xf32, #f>
  %g = sm.select_columns %x from 3 step 2 : tensor<64x64xf32, #c> -> tensor<64x16xf32, #r>
  return %p, %c, %f, %g : tensor<64x64xf32, #c>, tensor<64x64xf32, #r>, tensor<4096xf32, #f>, tensor<64x16xf32, #r>
}
