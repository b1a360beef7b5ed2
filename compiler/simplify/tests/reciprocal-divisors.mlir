// RUN: tegula-opt %s --allow-unregistered-dialect --reciprocal-divisors | FileCheck %s

// CHECK-LABEL: @before_the_loop
// CHECK-SAME: (%[[N:.*]]: index, %[[D:.*]]: i32)
// CHECK: %[[IS_ZERO:.*]] = arith.cmpi eq, %[[D]], %c0_i32
// CHECK: %[[OPPOSITE:.*]] = arith.subi %{{.*}}, %[[D]]
// CHECK: %[[ABS:.*]] = arith.maxsi %[[D]], %[[OPPOSITE]]
// CHECK: %[[MAGNITUDE:.*]] = arith.select %[[IS_ZERO]], %{{.*}}, %[[ABS]]
// CHECK: %[[RECIPROCAL:.*]] = arith.divui %{{.*}}, %[[MAGNITUDE]]
// CHECK: scf.for %[[I:.*]] = %c0
// CHECK: %[[X:.*]] = arith.index_cast %[[I]]
// CHECK: %[[ABS_X:.*]] = arith.maxsi %[[X]]
// CHECK: %[[A:.*]] = arith.extui %[[ABS_X]]
// CHECK: %[[B:.*]] = arith.extui %[[RECIPROCAL]]
// CHECK: %[[PRODUCT:.*]] = arith.muli %[[A]], %[[B]] : i64
// CHECK: %[[HIGH:.*]] = arith.shrui %[[PRODUCT]], %c32_i64
// CHECK: %[[FIRST:.*]] = arith.trunci %[[HIGH]]
// CHECK: %[[COVERED:.*]] = arith.muli %[[FIRST]], %[[MAGNITUDE]]
// CHECK: %[[REST:.*]] = arith.subi %[[ABS_X]], %[[COVERED]]
// CHECK: %[[IS_SMALL:.*]] = arith.cmpi uge, %[[REST]], %[[MAGNITUDE]]
// CHECK: %[[ONE:.*]] = arith.extui %[[IS_SMALL]]
// CHECK: arith.addi %[[FIRST]], %[[ONE]]
// CHECK-NOT: arith.divsi
func.func @before_the_loop(%n: index, %d: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %x = arith.index_cast %i : index to i32
    %q = arith.divsi %x, %d : i32
    "test.use"(%q) : (i32) -> ()
  }
  return
}

// A loop-invariant division moves before the loop. Its quotient is then a divisor like any other.
// CHECK-LABEL: @divisors_of_divisors
// CHECK: tile.dim
// CHECK-COUNT-2: arith.divui
// CHECK: scf.for
// CHECK-NOT: arith.div
// CHECK-NOT: arith.rem
// CHECK: return
func.func @divisors_of_divisors(%v: !tile.view<1xf32>, %n: index, %heads: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %x = arith.index_cast %i : index to i32
    %size = tile.dim %v 0 : !tile.view<1xf32>
    %kv_heads = arith.index_cast %size : index to i32
    %group = arith.divsi %heads, %kv_heads : i32
    %r = arith.remsi %x, %group : i32
    "test.use"(%r) : (i32) -> ()
  }
  return
}

// CHECK-LABEL: @stays
// CHECK-COUNT-3: arith.divsi
func.func @stays(%n: index, %d: i32, %wide: i64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : i32
  scf.for %i = %c0 to %n step %c1 {
    %x = arith.index_cast %i : index to i32
    %y = arith.index_cast %i : index to i64
    %constant = arith.divsi %x, %c7 : i32
    %changes = arith.divsi %d, %x : i32
    %long = arith.divsi %y, %wide : i64
    "test.use"(%constant, %changes, %long) : (i32, i32, i64) -> ()
  }
  return
}

// Loops with dynamic iterations are rewritten, too.
// CHECK-LABEL: @dynamic
// CHECK: arith.divui
// CHECK: scf.while
// CHECK-NOT: arith.divsi
func.func @dynamic(%v: !tile.view<1xi32> {tile.written}, %last: i32, %d: i32) {
  scf.while : () -> i32 {
    %number = tile.next_work %v : !tile.view<1xi32>
    %more = arith.cmpi slt, %number, %last : i32
    scf.condition(%more) %number : i32
  } do {
  ^bb0(%number: i32):
    %q = arith.divsi %number, %d : i32
    "test.use"(%q) : (i32) -> ()
    scf.yield
  }
  return
}
