// RUN: tegula-opt %s --until=tile | FileCheck %s --check-prefix=TILE
// RUN: tegula-opt %s --until=simplify | FileCheck %s --check-prefix=SIMPLIFY
// RUN: not tegula-opt %s --until=simplfy 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: tegula-opt: there is no phase 'simplfy'; the phases of cpu are tile, simplify, plan

// TILE-LABEL: @exp_of_a_product
// TILE-NEXT: tile.dot %arg0, %arg0 {transpose_rhs}
// TILE-NEXT: math.exp
// SIMPLIFY-LABEL: @exp_of_a_product
// SIMPLIFY: math.exp2
func.func @exp_of_a_product(%x: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %0 = tile.transpose %x [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %1 = tile.dot %x, %0 : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %2 = math.exp %1 : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
