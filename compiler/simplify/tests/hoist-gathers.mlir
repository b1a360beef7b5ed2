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
