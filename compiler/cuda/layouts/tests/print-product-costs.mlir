// RUN: tegula-opt --print-product-costs --split-input-file --verify-diagnostics %s

// Rows that are reduced must be rows of an MMA of one warpgroup: any other plan costs more than all else. The second dot
// takes its left operand from registers only if it has the plan of the first one.
module attributes {tile.roles = "load", tile.num_warps = 8 : i64} {
  func.func @forward(%q: tensor<128x64xbf16>, %k: tensor<64x64xbf16>, %m: tensor<128xf32>) -> (tensor<128x64xf32>, tensor<128xf32>) {
    // expected-remark @+4 {{2 x 1 warpgroups: 776 clocks, chosen}}
    // expected-remark @+3 {{1 x 2 warpgroups: 1001260 clocks}}
    // expected-remark @+2 {{flipped, 2 x 1 warpgroups: 64 columns are no multiple of 128, which is 64 for each of 2 warpgroups}}
    // expected-remark @+1 {{flipped, 1 x 2 warpgroups: 1001132 clocks}}
    %s = tile.dot %q, %k {transpose_rhs} : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    %max = tile.reduce max %s axis 1 : tensor<128x64xf32> -> tensor<128xf32>
    %p = arith.truncf %s : tensor<128x64xf32> to tensor<128x64xbf16>
    // expected-remark @+4 {{2 x 1 warpgroups: 776 clocks, chosen}}
    // expected-remark @+3 {{1 x 2 warpgroups: 1260 clocks}}
    // expected-remark @+2 {{flipped, 2 x 1 warpgroups: 64 columns are no multiple of 128, which is 64 for each of 2 warpgroups}}
    // expected-remark @+1 {{flipped, 1 x 2 warpgroups: 1132 clocks}}
    %o = tile.dot %p, %k : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    return %o, %max : tensor<128x64xf32>, tensor<128xf32>
  }
}

// -----

// The model lets a loop run 16 times.
module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  func.func @once(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>) -> tensor<64x64xf32> {
    // expected-remark @+2 {{1 x 1 warpgroups: 456 clocks, chosen}}
    // expected-remark @+1 {{flipped, 1 x 1 warpgroups: 456 clocks}}
    %s = tile.dot %a, %b : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    return %s : tensor<64x64xf32>
  }
  func.func @in_a_loop(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %n: index, %zero: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32> {
      // expected-remark @+2 {{1 x 1 warpgroups: 7296 clocks, chosen}}
      // expected-remark @+1 {{flipped, 1 x 1 warpgroups: 7296 clocks}}
      %next = tile.dot %a, %b acc %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    return %sum : tensor<64x64xf32>
  }
}

// -----

// The attributes of a dot decide for the dots that are tied to it.
module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  func.func @preset(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>) -> tensor<64x64xf32> {
    // expected-remark @+2 {{1 x 1 warpgroups: its attributes say another}}
    // expected-remark @+1 {{flipped, 1 x 1 warpgroups: 584 clocks, chosen}}
    %0 = tile.dot %a, %b {tile.flipped = true} : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    // expected-remark @+2 {{1 x 1 warpgroups: dots that are tied to this one need another}}
    // expected-remark @+1 {{flipped, 1 x 1 warpgroups: 584 clocks, chosen}}
    %1 = tile.dot %a, %b : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %2 = arith.addf %0, %1 : tensor<64x64xf32>
    return %2 : tensor<64x64xf32>
  }
}

// -----

// A dot without a plan has its reason.
module attributes {tile.roles = "load", tile.num_warps = 8 : i64} {
  func.func @without_a_plan(%a: tensor<64x32xbf16>, %x: tensor<64x32xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    // expected-remark @+1 {{is not for warpgroups: each warp computes its own rows}}
    %0 = tile.dot %a, %a {tile.warp_local, transpose_rhs} : tensor<64x32xbf16>, tensor<64x32xbf16> -> tensor<64x64xf32>
    // expected-remark @+1 {{is not for warpgroups: wgmma multiplies bf16, f16 and e4m3, and f32 if the dot allows tf32, and the operands are f32; cast the operands to bf16 or f16}}
    %1 = tile.dot %x, %x {transpose_rhs} : tensor<64x32xf32>, tensor<64x32xf32> -> tensor<64x64xf32>
    return %0, %1 : tensor<64x64xf32>, tensor<64x64xf32>
  }
}

// -----

// Without roles, no warpgroup computes a dot.
func.func @without_roles(%a: tensor<64x32xbf16>) -> tensor<64x64xf32> {
  %0 = tile.dot %a, %a {transpose_rhs} : tensor<64x32xbf16>, tensor<64x32xbf16> -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
