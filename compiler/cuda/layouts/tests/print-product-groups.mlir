// RUN: tegula-opt --print-product-groups --split-input-file --verify-diagnostics %s

// Elementwise ops tie probabilities to their scores. The second dot has a group of its own, with its accumulators.
func.func @forward(%q: tensor<128x64xbf16>, %k: tensor<64x64xbf16>, %n: index, %zero: tensor<128x64xf32>) -> tensor<128x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark @+1 {{result 0 is in group 1}}
  %o = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<128x64xf32> {
    // expected-remark @+1 {{result 0 is in group 0}}
    %s = tile.dot %q, %k {transpose_rhs} : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    // expected-remark @+1 {{result 0 is in group 0}}
    %p = arith.truncf %s : tensor<128x64xf32> to tensor<128x64xbf16>
    // expected-remark @+1 {{result 0 is in group 1}}
    %next = tile.dot %p, %k acc %acc : tensor<128x64xbf16>, tensor<64x64xbf16>, tensor<128x64xf32> -> tensor<128x64xf32>
    scf.yield %next : tensor<128x64xf32>
  }
  return %o : tensor<128x64xf32>
}

// -----

// A sum ties two dots together, and so does a branch. A tile that no dot is tied to has no remark.
func.func @tied(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %c: i1, %x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64xf32>) {
  // expected-remark @+1 {{result 0 is in group 0}}
  %0 = tile.dot %a, %b : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  // expected-remark @+1 {{result 0 is in group 0}}
  %1 = scf.if %c -> tensor<64x64xf32> {
    // expected-remark @+1 {{result 0 is in group 0}}
    %2 = tile.dot %b, %a : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %2 : tensor<64x64xf32>
  } else {
    scf.yield %0 : tensor<64x64xf32>
  }
  %rows = tile.reduce add %1 axis 1 : tensor<64x64xf32> -> tensor<64xf32>
  %twice = arith.addf %rows, %rows : tensor<64xf32>
  return %1, %twice : tensor<64x64xf32>, tensor<64xf32>
}

// -----

// Broadcasts and constants tie nothing, because each layout can make them again.
func.func @broadcasts(%a: tensor<64x64xf16>, %row: tensor<1x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %b = tile.broadcast %row : tensor<1x64xf32> -> tensor<64x64xf32>
  // expected-remark @+1 {{result 0 is in group 0}}
  %0 = tile.dot %a, %a : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  // expected-remark @+1 {{result 0 is in group 1}}
  %1 = tile.dot %a, %a {transpose_lhs} : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  // expected-remark @+1 {{result 0 is in group 0}}
  %2 = arith.addf %0, %b : tensor<64x64xf32>
  // expected-remark @+1 {{result 0 is in group 1}}
  %3 = arith.addf %1, %b : tensor<64x64xf32>
  return %2, %3 : tensor<64x64xf32>, tensor<64x64xf32>
}
