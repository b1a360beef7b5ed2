// RUN: tegula-opt %s --draw-late | FileCheck %s

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!a = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<64x64xf32, #c>>
!t = tensor<64x64xf32, #c>

// The numbers and their comparison move after both starts, which come before the first wait.
// CHECK-LABEL: @two_starts
func.func @two_starts(%q: !a, %k: !a, %seed: i64, %stream: i32, %i: i32, %limit: tensor<64x64xi32, #c>, %zero: !t) -> (!t, !t) {
  // CHECK-NOT: sm.random
  // CHECK: sm.wgmma
  // CHECK: sm.wgmma
  // CHECK-NEXT: %[[X:.*]] = sm.random
  // CHECK-NEXT: arith.cmpi ult, %[[X]], %{{.*}}
  // CHECK-NEXT: sm.await
  %x = sm.random %seed, %seed, %stream at %i, %i bits 8 rounds 7 : tensor<64x64xi32, #c>
  %kept = arith.cmpi ult, %x, %limit : tensor<64x64xi32, #c>
  %f = sm.wgmma %q, %k depth 64 : !a, !a -> !f
  %g = sm.wgmma %k, %q depth 64 : !a, !a -> !f
  %s = sm.await %f : !f
  %h = sm.wgmma %k, %k depth 64 : !a, !a -> !f
  %o = sm.await %g : !f
  %u = sm.await %h : !f
  %r = arith.select %kept, %s, %zero : tensor<64x64xi1, #c>, !t
  %v = arith.addf %r, %u : !t
  return %v, %o : !t, !t
}

// The second MMA starts after the numbers are read.
// CHECK-LABEL: @no_start_before_the_use
func.func @no_start_before_the_use(%q: !a, %k: !a, %seed: i64, %stream: i32, %i: i32, %limit: tensor<64x64xi32, #c>, %zero: !t) -> (!t, !t) {
  // CHECK: sm.wgmma
  // CHECK-NEXT: sm.await
  // CHECK-NEXT: sm.random
  // CHECK-NEXT: arith.cmpi
  // CHECK-NEXT: arith.select
  // CHECK-NEXT: sm.wgmma
  %f = sm.wgmma %q, %k depth 64 : !a, !a -> !f
  %s = sm.await %f : !f
  %x = sm.random %seed, %seed, %stream at %i, %i bits 8 rounds 7 : tensor<64x64xi32, #c>
  %kept = arith.cmpi ult, %x, %limit : tensor<64x64xi32, #c>
  %r = arith.select %kept, %s, %zero : tensor<64x64xi1, #c>, !t
  %g = sm.wgmma %k, %q depth 64 : !a, !a -> !f
  %o = sm.await %g : !f
  return %r, %o : !t, !t
}

// A branch reads the numbers before the MMA starts.
// CHECK-LABEL: @stays_before_a_branch
func.func @stays_before_a_branch(%q: !a, %k: !a, %seed: i64, %stream: i32, %i: i32, %c: i1, %y: tensor<64x64xi32, #c>) -> (tensor<64x64xi32, #c>, !t) {
  // CHECK: sm.random
  // CHECK-NEXT: scf.if
  %x = sm.random %seed, %seed, %stream at %i, %i bits 8 rounds 7 : tensor<64x64xi32, #c>
  %r = scf.if %c -> tensor<64x64xi32, #c> {
    scf.yield %x : tensor<64x64xi32, #c>
  } else {
    scf.yield %y : tensor<64x64xi32, #c>
  }
  %f = sm.wgmma %q, %k depth 64 : !a, !a -> !f
  %s = sm.await %f : !f
  return %r, %s : tensor<64x64xi32, #c>, !t
}
