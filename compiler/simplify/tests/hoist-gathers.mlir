// RUN: tegula-opt %s --hoist-gathers | FileCheck %s

// CHECK-LABEL: @rows
// CHECK: %[[ROWS:.*]] = tile.iota
// CHECK: tile.gather %{{.*}}[%[[ROWS]]]
// CHECK: scf.for
// CHECK-NOT: tile.iota
// CHECK: tile.gather %{{.*}} : !tile.view<1xf32>, tensor<32xindex>
func.func @rows(%v: !tile.view<1xf32>, %n: index, %out: !tile.view<1xf32> {tile.written}) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  scf.for %j = %c0 to %n step %c32 {
    %rows = tile.iota : tensor<64xindex>
    %x = tile.gather %v[%rows] : !tile.view<1xf32>, tensor<64xindex> -> tensor<64xf32>
    %keys = tile.broadcast %j : index -> tensor<32xindex>
    %y = tile.gather %v[%keys] : !tile.view<1xf32>, tensor<32xindex> -> tensor<32xf32>
    tile.store %x, %out[%j] : tensor<64xf32>, !tile.view<1xf32>
    tile.store %y, %out[%j] : tensor<32xf32>, !tile.view<1xf32>
  }
  return
}

// A tensor that the loop writes may give another value in each iteration.

// CHECK-LABEL: @written
// CHECK: scf.for
// CHECK: tile.gather
func.func @written(%n: index, %v: !tile.view<1xf32> {tile.written}) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %rows = tile.iota : tensor<64xindex>
  scf.for %j = %c0 to %n step %c32 {
    %x = tile.gather %v[%rows] : !tile.view<1xf32>, tensor<64xindex> -> tensor<64xf32>
    tile.store %x, %v[%j] : tensor<64xf32>, !tile.view<1xf32>
  }
  return
}

// A large tile would take the registers that the loop needs.

// CHECK-LABEL: @large
// CHECK: scf.for
// CHECK: tile.gather
func.func @large(%v: !tile.view<1xf32>, %n: index, %at: tensor<64x32xindex>, %out: !tile.view<2xf32> {tile.written}) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  scf.for %j = %c0 to %n step %c32 {
    %x = tile.gather %v[%at] : !tile.view<1xf32>, tensor<64x32xindex> -> tensor<64x32xf32>
    tile.store %x, %out[%j, %c0] : tensor<64x32xf32>, !tile.view<2xf32>
  }
  return
}

// The index of the loop is the last one, or the one before. The slice of a load stays.

// CHECK-LABEL: @slices
// CHECK: %[[LAST:.*]] = tile.slice %arg0[%arg1, %arg2, %{{.*}}] : !tile.view<4xi32> -> !tile.view<1xi32>
// CHECK: %[[OUTER:.*]] = tile.slice %arg0[%arg1, %arg2] : !tile.view<4xi32> -> !tile.view<2xi32>
// CHECK: %[[PART:.*]] = tile.slice %arg0[%arg2] axis 1 : !tile.view<4xi32> -> !tile.view<3xi32>
// CHECK: scf.for %[[I:[^ ]*]] =
// CHECK: tile.gather %[[LAST]][%[[I]]]
// CHECK: %[[INNER:.*]] = tile.slice %[[OUTER]][%[[I]]] : !tile.view<2xi32> -> !tile.view<1xi32>
// CHECK: tile.gather %[[INNER]][%arg2]
// CHECK: %[[ACROSS:.*]] = tile.slice %[[PART]][%[[I]]] axis 1 : !tile.view<3xi32> -> !tile.view<2xi32>
// CHECK: tile.gather %[[ACROSS]][%arg1, %arg2]
// CHECK: tile.slice %arg0[%arg1, %arg2, %arg2]
// CHECK: tile.load
func.func @slices(%v: !tile.view<4xi32>, %b: index, %h: index, %n: index, %row: i32,
                  %out: !tile.view<1xi32> {tile.written}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> i32 {
    %r = arith.index_cast %row : i32 to index
    %last = tile.slice %v[%b, %h, %r] : !tile.view<4xi32> -> !tile.view<1xi32>
    %x = tile.gather %last[%i] : !tile.view<1xi32>, index -> i32
    %middle = tile.slice %v[%b, %h, %i] : !tile.view<4xi32> -> !tile.view<1xi32>
    %y = tile.gather %middle[%h] : !tile.view<1xi32>, index -> i32
    %across = tile.slice %v[%h, %i] axis 1 : !tile.view<4xi32> -> !tile.view<2xi32>
    %w = tile.gather %across[%b, %h] : !tile.view<2xi32>, index, index -> i32
    %loaded = tile.slice %v[%b, %h, %h] : !tile.view<4xi32> -> !tile.view<1xi32>
    %z = tile.load %loaded[%i] : !tile.view<1xi32> -> tensor<8xi32>
    tile.store %z, %out[%i] : tensor<8xi32>, !tile.view<1xi32>
    %a = arith.addi %sum, %x : i32
    %c = arith.addi %a, %w : i32
    %next = arith.addi %c, %y : i32
    scf.yield %next : i32
  }
  %tile = tile.broadcast %r : i32 -> tensor<1xi32>
  tile.store %tile, %out[%c0] : tensor<1xi32>, !tile.view<1xi32>
  return
}
