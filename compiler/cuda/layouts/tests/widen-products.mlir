// RUN: tegula-opt %s --widen-products --split-input-file | FileCheck %s

// Each e4m3 number is an f16 number, so the product is the same. Its label stays.
// CHECK-LABEL: func.func @of_e4m3(
// CHECK-SAME: %[[A:.*]]: tensor<64x32xf8E4M3FN>, %[[B:.*]]: tensor<64x32xf8E4M3FN>)
// CHECK-DAG: %[[WA:.*]] = arith.extf %[[A]] : tensor<64x32xf8E4M3FN> to tensor<64x32xf16>
// CHECK-DAG: %[[WB:.*]] = arith.extf %[[B]] : tensor<64x32xf8E4M3FN> to tensor<64x32xf16>
// CHECK: tile.dot %[[WA]], %[[WB]] {tile.label = "s", transpose_rhs} : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
func.func @of_e4m3(%a: tensor<64x32xf8E4M3FN>, %b: tensor<64x32xf8E4M3FN>) -> tensor<64x64xf32> {
  %0 = tile.dot %a, %b {tile.label = "s", transpose_rhs} : tensor<64x32xf8E4M3FN>, tensor<64x32xf8E4M3FN> -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// -----

// CHECK-LABEL: func.func @of_16_bits
// CHECK-NOT: arith.extf
func.func @of_16_bits(%a: tensor<64x32xbf16>, %b: tensor<32x64xbf16>) -> tensor<64x64xf32> {
  %0 = tile.dot %a, %b : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// -----

// Warpgroups multiply elements of 8 bits.
// CHECK-LABEL: func.func @of_warpgroups
// CHECK-NOT: arith.extf
module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  func.func @of_warpgroups(%a: tensor<64x128xf8E4M3FN>, %b: tensor<128x128xf8E4M3FN>) -> tensor<64x128xf32> {
    %0 = tile.dot %a, %b {tile.flipped = false, tile.warpgroups = array<i64: 1, 1>}
      : tensor<64x128xf8E4M3FN>, tensor<128x128xf8E4M3FN> -> tensor<64x128xf32>
    return %0 : tensor<64x128xf32>
  }
}
