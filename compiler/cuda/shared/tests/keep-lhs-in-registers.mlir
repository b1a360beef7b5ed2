// RUN: tegula-opt --keep-lhs-in-registers --split-input-file --verify-diagnostics %s | FileCheck %s

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// The operand is read once, after everything that the first iteration of the loop has started.
// CHECK: #[[A:.*]] = #sm.layout<registers = [1:2:1, 0:2:8, 1:6:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
// CHECK-LABEL: func @left_operand
// CHECK: %[[Q:.*]] = sm.load_shared
// CHECK: sm.commit
// CHECK-NEXT: %[[HELD:.*]] = sm.read %[[Q]] : {{.*}} -> tensor<64x48xbf16, #[[A]]>
// CHECK-NEXT: scf.for
// CHECK: sm.mma %[[HELD]], %{{.*}} depth 48
// An MMA reads shared memory if its operand changes in the loop or is transposed:
// CHECK: %[[P:.*]] = sm.load_shared
// CHECK: sm.mma %[[P]]
// CHECK: sm.mma %[[Q]], {{.*}} {transpose_lhs}
module attributes {tile.lhs_in_registers = true} {
  func.func @left_operand(%n: index, %q: !tile.view<2xbf16> {tile.name = "q"}, %k: !sm.shared<64x64xbf16, 128>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %none = arith.constant dense<0.0> : tensor<64x64xf32, #c>
    %qs = sm.load_shared %q[%c0, %c0] [64, 48] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
    %copies = sm.commit
    %r = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %none) -> tensor<64x64xf32, #c> {
      %s = sm.mma %qs, %k depth 48 acc %acc {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c> -> tensor<64x64xf32, #c>
      %p = sm.load_shared %q[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %t = sm.mma %p, %k depth 64 acc %s
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c> -> tensor<64x64xf32, #c>
      %u = sm.mma %qs, %k depth 64 acc %t {transpose_lhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c> -> tensor<64x64xf32, #c>
      scf.yield %u : tensor<64x64xf32, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#words = #sm.layout<registers = [0:2:8, 1:8:4], lanes = [1:4:1, 0:8:1], warps = [0:4:16]>

// The MMA before the loop takes the operand from the same registers, packed.
// CHECK-LABEL: func @beside_weights
// CHECK: %[[READ:.*]] = sm.read
// CHECK-NEXT: %[[HELD:.*]] = sm.pack %[[READ]] : {{.*}} -> tensor<64x32xi32
// CHECK-NEXT: scf.if
// CHECK: sm.wgmma %[[HELD]]
// CHECK: scf.for {{.*}} iter_args(%[[P:[^ ]*]] =
// CHECK: sm.wgmma %[[HELD]]
// CHECK: sm.wgmma %[[P]]
module attributes {tile.lhs_in_registers = true} {
  func.func @beside_weights(%n: index, %some: i1, %q: !sm.shared<64x64xbf16, 128>, %k: !sm.shared<64x64xbf16, 128>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    scf.if %some {
      %f = sm.wgmma %q, %k depth 64 {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !sm.inflight<tensor<64x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
      %t = arith.truncf %s : tensor<64x64xf32, #c> to tensor<64x64xbf16, #c>
      %w = sm.pack %t : tensor<64x64xbf16, #c> -> tensor<64x32xi32, #words>
      %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%p = %w, %o = %s)
          -> (tensor<64x32xi32, #words>, tensor<64x64xf32, #c>) {
        %g = sm.wgmma %q, %k depth 64 {transpose_rhs}
          : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !sm.inflight<tensor<64x64xf32, #c>>
        %h = sm.wgmma %p, %k depth 64 acc %o
          : tensor<64x32xi32, #words>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c> -> !sm.inflight<tensor<64x64xf32, #c>>
        %u = sm.await %g : !sm.inflight<tensor<64x64xf32, #c>>
        %v = sm.await %h : !sm.inflight<tensor<64x64xf32, #c>>
        %x = arith.truncf %u : tensor<64x64xf32, #c> to tensor<64x64xbf16, #c>
        %y = sm.pack %x : tensor<64x64xbf16, #c> -> tensor<64x32xi32, #words>
        scf.yield %y, %v : tensor<64x32xi32, #words>, tensor<64x64xf32, #c>
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// If an iteration packs and uses P itself, ptxas would write P over the operand in registers.
// CHECK-LABEL: func @weights_of_the_iteration
// CHECK-NOT: sm.read
module attributes {tile.lhs_in_registers = true} {
  // expected-remark @+1 {{lhs_in_registers has no effect: no loop has an MMA whose left operand it does not change and could keep in registers}}
  func.func @weights_of_the_iteration(%n: index, %q: !sm.shared<64x64xbf16, 128>, %k: !sm.shared<64x64xbf16, 128>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    scf.for %j = %c0 to %n step %c64 {
      %f = sm.wgmma %q, %k depth 64 {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !sm.inflight<tensor<64x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// The module has no `tile.lhs_in_registers`, so nothing changes.
// CHECK-LABEL: func @from_shared_memory
// CHECK-NOT: sm.read
module {
  func.func @from_shared_memory(%n: index, %q: !sm.shared<64x64xbf16, 128>, %k: !sm.shared<64x64xbf16, 128>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    scf.for %j = %c0 to %n step %c64 {
      %s = sm.mma %q, %k depth 64 {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> tensor<64x64xf32, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// An sm.mma next to an sm.wgmma on the same operand runs rarely, so it alone keeps nothing in registers.
// CHECK-LABEL: func @rare_product
// CHECK-NOT: sm.read
module attributes {tile.lhs_in_registers = true} {
  // expected-remark @+1 {{lhs_in_registers has no effect: no loop has an MMA whose left operand it does not change and could keep in registers}}
  func.func @rare_product(%n: index, %q: !sm.shared<64x64xbf16, 128>, %k: !sm.shared<64x64xbf16, 128>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    scf.for %j = %c0 to %n step %c64 {
      %f = sm.wgmma %q, %k depth 64 {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !sm.inflight<tensor<64x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
      %t = sm.mma %q, %k depth 64 {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> tensor<64x64xf32, #c>
    }
    return
  }
}
