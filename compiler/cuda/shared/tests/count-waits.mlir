// RUN: tegula-opt %s --count-waits --split-input-file | FileCheck %s

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!a = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<64x64xf32, #c>>

// CHECK-LABEL: @two_in_flight
func.func @two_in_flight(%q: !a, %k: !a) -> tensor<64x64xf32, #c> {
  %f = sm.wgmma %q, %k depth 64 : !a, !a -> !f
  %g = sm.wgmma %k, %q depth 64 : !a, !a -> !f
  // CHECK: sm.await %{{.*}} pending 1
  %s = sm.await %f : !f
  // CHECK: sm.await %{{.*}} pending 0
  %o = sm.await %g : !f
  %r = arith.addf %s, %o : tensor<64x64xf32, #c>
  return %r : tensor<64x64xf32, #c>
}

// The second MMA starts in one branch only.
// CHECK-LABEL: @a_branch_counts_what_both_sides_start
func.func @a_branch_counts_what_both_sides_start(%q: !a, %k: !a, %c: i1, %x: tensor<64x64xf32, #c>) {
  %f = sm.wgmma %q, %k depth 64 : !a, !a -> !f
  %r = scf.if %c -> tensor<64x64xf32, #c> {
    %g = sm.wgmma %k, %q depth 64 : !a, !a -> !f
    // CHECK: sm.await %{{.*}} pending 0
    %o = sm.await %g : !f
    scf.yield %o : tensor<64x64xf32, #c>
  } else {
    scf.yield %x : tensor<64x64xf32, #c>
  }
  // CHECK: sm.await %{{.*}} pending 0
  %s = sm.await %f : !f
  return
}

// The loop carries the MMA in flight. One younger MMA has started when its operands have been read.
// CHECK-LABEL: @accumulators_in_flight
func.func @accumulators_in_flight(%q: !a, %k: !a, %n: index, %one: index) -> tensor<64x64xf32, #c> {
  %f = sm.wgmma %q, %k depth 64 : !a, !a -> !f
  %l = scf.for %i = %one to %n step %one iter_args(%g = %f) -> !f {
    %h = sm.wgmma %q, %k depth 64 acc %g : !a, !a, !f -> !f
    // CHECK: sm.await reads %{{.*}} pending 1
    sm.await reads %g : !f
    scf.yield %h : !f
  }
  // CHECK: sm.await %{{.*}} pending 0
  %s = sm.await %l : !f
  return %s : tensor<64x64xf32, #c>
}

// The first iteration waits for the MMA before the loop, with one younger MMA; a later one has two.
// CHECK-LABEL: @the_least_of_all_paths
func.func @the_least_of_all_paths(%q: !a, %k: !a, %n: index, %one: index) {
  %f = sm.wgmma %q, %k depth 64 : !a, !a -> !f
  %l = scf.for %i = %one to %n step %one iter_args(%g = %f) -> !f {
    %h = sm.wgmma %k, %q depth 64 : !a, !a -> !f
    // CHECK: sm.await %{{.*}} pending 1
    %s = sm.await %g : !f
    %m = sm.wgmma %k, %q depth 64 : !a, !a -> !f
    // CHECK: sm.await %{{.*}} pending 1
    %t = sm.await %h : !f
    scf.yield %m : !f
  }
  // CHECK: sm.await %{{.*}} pending 0
  %s = sm.await %l : !f
  return
}

// After an odd number of iterations, %l#1 is the MMA that started last.
// CHECK-LABEL: @handles_change_places
func.func @handles_change_places(%q: !a, %k: !a, %n: index, %one: index) {
  %f = sm.wgmma %q, %k depth 64 : !a, !a -> !f
  %m = sm.wgmma %k, %q depth 64 : !a, !a -> !f
  %l:2 = scf.for %i = %one to %n step %one iter_args(%g = %m, %h = %f) -> (!f, !f) {
    scf.yield %h, %g : !f, !f
  }
  // CHECK: sm.await %{{.*}}#1 pending 0
  %s = sm.await %l#1 : !f
  // CHECK: sm.await %{{.*}}#0 pending 0
  %t = sm.await %l#0 : !f
  return
}

// One side of the branch ends the MMA that the loop carries and starts the next one.
// CHECK-LABEL: @a_branch_in_a_loop
func.func @a_branch_in_a_loop(%q: !a, %k: !a, %n: index, %one: index, %c: i1) {
  %f = sm.wgmma %q, %k depth 64 : !a, !a -> !f
  %l = scf.for %i = %one to %n step %one iter_args(%g = %f) -> !f {
    %h = scf.if %c -> !f {
      // CHECK: sm.await %{{.*}} pending 0
      %s = sm.await %g : !f
      %m = sm.wgmma %k, %q depth 64 : !a, !a -> !f
      scf.yield %m : !f
    } else {
      scf.yield %g : !f
    }
    %o = sm.wgmma %q, %k depth 64 : !a, !a -> !f
    // CHECK: sm.await %{{.*}} pending 0
    %p = sm.await %o : !f
    scf.yield %h : !f
  }
  // CHECK: sm.await %{{.*}} pending 0
  %s = sm.await %l : !f
  return
}

// -----

// Two stores by TMA from two buffers. When the older one has been read, the younger one may still run. MMAs do not
// count.
#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!a = !sm.shared<64x64xbf16, 128>
!v = !tile.view<2xbf16>
// CHECK-LABEL: @two_stores
func.func @two_stores(%o: !v, %p: !v, %n: index) {
  sm.roles {
    compute warps 4 registers 240 {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %s = sm.alloc {offset = 0 : i64} : !a
      %t = sm.alloc {offset = 8192 : i64} : !a
      scf.for %i = %c0 to %n step %c64 {
        // CHECK: sm.tma_store_wait %[[S:[0-9]+]] pending 1 :
        sm.tma_store_wait %s : !a
        sm.tma_store %s, %o[%i, %c0] rows_of_warp 16 : !a, !v
        %f = sm.wgmma %s, %t depth 64 : !a, !a -> !sm.inflight<tensor<64x64xf32, #c>>
        // CHECK: sm.tma_store_wait %[[T:[0-9]+]] pending 1 :
        sm.tma_store_wait %t : !a
        // CHECK: sm.await %{{.*}} pending 0
        %x = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
        sm.tma_store %t, %p[%i, %c0] rows_of_warp 16 : !a, !v
      }
      // CHECK: sm.tma_store_wait{{$}}
      sm.tma_store_wait
    }
    load warps 1 registers 24 {
    }
  }
  return
}

// -----

// The younger store is in one branch only, so the wait for the older one allows none.
!a = !sm.shared<64x64xbf16, 128>
!v = !tile.view<2xbf16>
// CHECK-LABEL: @a_store_in_a_branch
func.func @a_store_in_a_branch(%o: !v, %p: !v, %n: index, %c: i1) {
  sm.roles {
    compute warps 4 registers 240 {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %s = sm.alloc {offset = 0 : i64} : !a
      %t = sm.alloc {offset = 8192 : i64} : !a
      scf.for %i = %c0 to %n step %c64 {
        // CHECK: sm.tma_store_wait %[[S:[0-9]+]] pending 0 :
        sm.tma_store_wait %s : !a
        sm.tma_store %s, %o[%i, %c0] rows_of_warp 16 : !a, !v
        scf.if %c {
          sm.tma_store %t, %p[%i, %c0] rows_of_warp 16 : !a, !v
        }
      }
    }
    load warps 1 registers 24 {
    }
  }
  return
}

// -----

// The younger store is in one branch only, but the other one closes a commit group, too.
!a = !sm.shared<64x64xbf16, 128>
!v = !tile.view<2xbf16>
// CHECK-LABEL: @a_group_in_each_branch
func.func @a_group_in_each_branch(%o: !v, %p: !v, %c: i1) {
  sm.roles {
    compute warps 4 registers 240 {
      %c0 = arith.constant 0 : index
      %s = sm.alloc {offset = 0 : i64} : !a
      %t = sm.alloc {offset = 8192 : i64} : !a
      sm.tma_store %s, %o[%c0, %c0] rows_of_warp 16 : !a, !v
      scf.if %c {
        sm.tma_store %t, %p[%c0, %c0] rows_of_warp 16 : !a, !v
      } else {
        sm.tma_commit
      }
      // CHECK: sm.tma_store_wait %{{.*}} pending 1 :
      sm.tma_store_wait %s : !a
    }
    load warps 1 registers 24 {
    }
  }
  return
}

// -----

// The buffer is stored in one branch or the other, and each has its own number of younger stores.
!a = !sm.shared<64x64xbf16, 128>
!v = !tile.view<2xbf16>
// CHECK-LABEL: @stores_in_both_branches
func.func @stores_in_both_branches(%o: !v, %p: !v, %c: i1) {
  sm.roles {
    compute warps 4 registers 240 {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %s = sm.alloc {offset = 0 : i64} : !a
      %t = sm.alloc {offset = 8192 : i64} : !a
      scf.if %c {
        sm.tma_store %s, %o[%c0, %c0] rows_of_warp 16 : !a, !v
        sm.tma_store %t, %p[%c0, %c0] rows_of_warp 16 : !a, !v
        sm.tma_store %t, %p[%c64, %c0] rows_of_warp 16 : !a, !v
      } else {
        sm.tma_store %s, %o[%c0, %c0] rows_of_warp 16 : !a, !v
        sm.tma_store %t, %p[%c0, %c0] rows_of_warp 16 : !a, !v
      }
      // CHECK: sm.tma_store_wait %{{.*}} pending 1 :
      sm.tma_store_wait %s : !a
    }
    load warps 1 registers 24 {
    }
  }
  return
}

// -----

// Two rings of three slots share their groups. The copy of Q belongs to the first group, so the wait of each iteration
// leaves one group in flight. After the loop, which may run zero times, one group is younger, too.
!a = !sm.shared<64x64xbf16, 128>
!v = !tile.view<2xbf16>
// CHECK-LABEL: @copies_ahead_of_a_loop
func.func @copies_ahead_of_a_loop(%x: !v, %q: !a, %k: !a, %n: index, %one: index) {
  sm.copy_in %x[%one, %one] [64, 64], %q : !v, !a
  %of_q = sm.commit joins_next
  %g0 = sm.commit
  %g1 = sm.commit
  %l:2 = scf.for %i = %one to %n step %one iter_args(%old = %g0, %young = %g1) -> (!sm.copies, !sm.copies) {
    // CHECK: sm.wait %{{.*}}, %{{.*}} pending 1
    sm.wait %old, %of_q
    sm.copy_in %x[%i, %one] [64, 64], %k : !v, !a
    %g2 = sm.commit
    scf.yield %young, %g2 : !sm.copies, !sm.copies
  }
  // CHECK: sm.wait %{{.*}} pending 1
  sm.wait %of_q
  // CHECK: sm.wait %{{.*}}#0 pending 1
  sm.wait %l#0
  // CHECK: sm.wait %{{.*}}#1, %{{.*}}#0 pending 0
  sm.wait %l#1, %l#0
  return
}

// MMAs and copies finish independently of each other. The group of the branch does not count on the other side.
// CHECK-LABEL: @engines_count_separately
#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
func.func @engines_count_separately(%x: !v, %q: !a, %k: !a, %i: index, %c: i1) {
  sm.copy_in %x[%i, %i] [64, 64], %k : !v, !a
  %copies = sm.commit
  %f = sm.wgmma %q, %q depth 64 : !a, !a -> !sm.inflight<tensor<64x64xf32, #c>>
  scf.if %c {
    %other = sm.commit
  }
  %younger = sm.commit
  // CHECK: sm.wait %{{.*}} pending 1
  sm.wait %copies
  // CHECK: sm.await %{{.*}} pending 0
  %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
  return
}

// A branch chooses between two groups. The wait allows what is younger than either.
// CHECK-LABEL: @a_group_of_either_side
func.func @a_group_of_either_side(%i: index, %c: i1) {
  %old = sm.commit
  %young = sm.commit
  %either = scf.if %c -> !sm.copies {
    scf.yield %old : !sm.copies
  } else {
    scf.yield %young : !sm.copies
  }
  %last = sm.commit
  // CHECK: sm.wait %{{.*}} pending 1
  sm.wait %either
  return
}

// The wait comes after the commit of the next iteration's copies.
// CHECK-LABEL: @a_wait_after_the_next_commit
func.func @a_wait_after_the_next_commit(%n: index, %one: index) {
  %first = sm.commit
  %last = scf.for %i = %one to %n step %one iter_args(%old = %first) -> !sm.copies {
    %next = sm.commit
    // CHECK: sm.wait %{{.*}} pending 1
    sm.wait %old
    scf.yield %next : !sm.copies
  }
  return
}
