// RUN: tegula-opt --pipeline-copies --split-input-file %s | FileCheck %s

// The copies of two tiles start before the loop. Each iteration starts the copy of a later tile into the slot that was
// read last.
// CHECK-LABEL: func @three_stages
// CHECK-SAME: (%[[K:.*]]: !tile.view<2xbf16>, %[[LO:.*]]: index, %[[HI:.*]]: index)
// CHECK: %[[RING:.*]] = sm.alloc : !sm.shared<3x64x64xbf16, 128>
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %[[LO]], %[[HI]]
// CHECK: scf.if %[[EXISTS]] {
// CHECK-NEXT: %[[SLOT0:.*]] = sm.slot %[[RING]][%c0_i32]
// CHECK-NEXT: sm.copy_in %[[K]][%[[LO]], %{{.*}}] [64, 64], %[[SLOT0]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[COPIES0:.*]] = sm.commit
// CHECK: %[[SECOND:.*]] = arith.addi %[[LO]], %c64
// CHECK: scf.if
// CHECK-NEXT: %[[SLOT1:.*]] = sm.slot %[[RING]][%c1_i32]
// CHECK-NEXT: sm.copy_in %[[K]][%[[SECOND]], %{{.*}}] [64, 64], %[[SLOT1]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[COPIES1:.*]] = sm.commit
// CHECK: %[[DISTANCE:.*]] = arith.constant 128 : index
// CHECK: scf.for %[[J:.*]] = %[[LO]] to %[[HI]] step %c64 iter_args(%[[SUM:.*]] = %{{.*}}, %[[OLD:.*]] = %[[COPIES0]], %[[YOUNG:.*]] = %[[COPIES1]], %[[SLOT:.*]] = %c0_i32{{.*}})
// CHECK-NEXT: sm.wait %[[OLD]]{{$}}
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[J]], %[[DISTANCE]]
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[SLOT]], %c0_i32
// CHECK: %[[BEFORE:.*]] = arith.addi %[[SLOT]], %c-1_i32
// CHECK: %[[FREE:.*]] = arith.select %[[FIRST]], %c2_i32{{.*}}, %[[BEFORE]]
// CHECK: arith.cmpi slt, %[[NEXT]], %[[HI]]
// CHECK: %[[FREE_SLOT:.*]] = sm.slot %[[RING]][%[[FREE]]]
// CHECK-NEXT: sm.copy_in %[[K]][%[[NEXT]], %{{.*}}] [64, 64], %[[FREE_SLOT]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[COPIES2:.*]] = sm.commit
// CHECK-NEXT: %[[TILE:.*]] = sm.slot %[[RING]][%[[SLOT]]]
// CHECK-NEXT: sm.mma %[[TILE]], %[[TILE]]
// CHECK: %[[LAST:.*]] = arith.cmpi eq, %[[SLOT]], %c2_i32
// CHECK: %[[AFTER:.*]] = arith.addi %[[SLOT]], %c1_i32
// CHECK: %[[NEXT_SLOT:.*]] = arith.select %[[LAST]], %c0_i32{{.*}}, %[[AFTER]]
// CHECK: scf.yield %{{.*}}, %[[YOUNG]], %[[COPIES2]], %[[NEXT_SLOT]]
// CHECK-NOT: sm.wait
#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
module attributes {tile.num_stages = 3 : i64} {
  func.func @three_stages(%k: !tile.view<2xbf16>, %lo: index, %hi: index) -> tensor<64x64xf32, #c> {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
    %r = scf.for %j = %lo to %hi step %c64 iter_args(%sum = %zero) -> tensor<64x64xf32, #c> {
      %t = sm.load_shared %k[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %s = sm.mma %t, %t depth 64 acc %sum {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c> -> tensor<64x64xf32, #c>
      scf.yield %s : tensor<64x64xf32, #c>
    }
    return %r : tensor<64x64xf32, #c>
  }
}

// -----

// With a ring of one slot, no copy starts before the loop. The copies of an iteration still start together.
// CHECK-LABEL: func @one_stage
// CHECK-NOT: copy_in
// CHECK: scf.for
// CHECK: sm.copy_in %arg0
// CHECK-NEXT: sm.slot
// CHECK-NEXT: sm.copy_in %arg1
// CHECK-NEXT: }
// CHECK-NEXT: %[[COPIES:.*]] = sm.commit
// CHECK-NEXT: sm.wait %[[COPIES]]{{$}}
// CHECK: sm.read
// CHECK: sm.read
#r = #sm.layout<registers = [1:8:1, 0:4:16], lanes = [1:8:8, 0:4:1], warps = [0:4:4]>
module attributes {tile.num_stages = 1 : i64} {
  func.func @one_stage(%k: !tile.view<2xbf16>, %v: !tile.view<2xbf16>, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    scf.for %j = %c0 to %n step %c64 {
      %a = sm.load_shared %k[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %x = sm.read %a : !sm.shared<64x64xbf16, 128> -> tensor<64x64xbf16, #r>
      %b = sm.load_shared %v[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %y = sm.read %b : !sm.shared<64x64xbf16, 128> -> tensor<64x64xbf16, #r>
    }
    return
  }
}

// -----

// The ops of the position are computed again for the later iteration. Variables of outer loops are constants here, and
// the load of the outer loop stays where it is.
// CHECK-LABEL: func @position_of_the_later_iteration
// CHECK: scf.for %[[H:[a-z0-9]*]] =
// CHECK-NEXT: sm.load_shared
// CHECK: sm.alloc : !sm.shared<2x64x64xbf16, 128>
// CHECK: scf.if
// CHECK-NEXT: %[[HEAD0:.*]] = tile.slice %arg0[%[[H]]]
// CHECK-NEXT: %[[ROW0:.*]] = arith.muli %c0{{.*}}, %c64
// CHECK: sm.copy_in %[[HEAD0]][%[[ROW0]],
// CHECK: scf.for {{.*}} iter_args(%[[COPIES:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) -> (!sm.copies, i32)
// CHECK-NEXT: sm.wait %[[COPIES]]{{$}}
// CHECK: %[[NEXT:.*]] = arith.addi
// CHECK: scf.if
// CHECK-NEXT: %[[HEAD:.*]] = tile.slice %arg0[%[[H]]]
// CHECK-NEXT: %[[ROW:.*]] = arith.muli %[[NEXT]], %c64
// CHECK: sm.copy_in %[[HEAD]][%[[ROW]],
#r = #sm.layout<registers = [1:8:1, 0:4:16], lanes = [1:8:8, 0:4:1], warps = [0:4:4]>
module {
  func.func @position_of_the_later_iteration(%k: !tile.view<3xbf16>, %q: !tile.view<2xbf16>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    scf.for %h = %c0 to %n step %c1 {
      %outer = sm.load_shared %q[%h, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      scf.for %j = %c0 to %n step %c1 {
        %head = tile.slice %k[%h] : !tile.view<3xbf16> -> !tile.view<2xbf16>
        %row = arith.muli %j, %c64 : index
        %t = sm.load_shared %head[%row, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
        %x = sm.read %t : !sm.shared<64x64xbf16, 128> -> tensor<64x64xbf16, #r>
        %y = sm.read %outer : !sm.shared<64x64xbf16, 128> -> tensor<64x64xbf16, #r>
      }
    }
    return
  }
}

// -----

// The copies of a loop do not run ahead if a loop inside receives tiles, which needs the memory more.
// CHECK-LABEL: func @receives_inside
// CHECK: scf.for
// CHECK-NEXT: sm.load_shared
// CHECK: scf.for
// CHECK-NEXT: sm.consumer_wait
module attributes {tile.num_stages = 2 : i64} {
  func.func @receives_inside(%k: !tile.view<2xbf16>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0 : i32
    %ring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    %channel = sm.channel %ring from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    sm.roles {
      compute warps 4 registers 232 {
        scf.for %i = %c0 to %n step %c64 {
          %q = sm.load_shared %k[%i, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
          scf.for %j = %c0 to %n step %c1 {
            %t = sm.consumer_wait %channel[%zero] phase %zero : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
          }
        }
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

// CHECK-LABEL: func @stays
// CHECK-NOT: sm.alloc
// CHECK-COUNT-3: sm.load_shared
module {
  func.func @stays(%written: !tile.view<2xbf16> {tile.written}, %k: !tile.view<2xbf16>, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    scf.for %j = %c0 to %n step %c64 iter_args(%carried = %c0) -> index {
      %a = sm.load_shared %written[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %row = arith.addi %carried, %j : index
      %b = sm.load_shared %k[%row, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %some = arith.cmpi slt, %j, %c64 : index
      scf.if %some {
        %c = sm.load_shared %k[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      }
      %next = arith.addi %row, %c64 : index
      scf.yield %next : index
    }
    return
  }
}
