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
