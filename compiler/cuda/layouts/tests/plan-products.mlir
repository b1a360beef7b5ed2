// RUN: tegula-opt %s --plan-products --split-input-file --verify-diagnostics | FileCheck %s

// Rows of the scores are reduced, so they must be rows of an MMA. The second MMA then takes its left operand from
// registers.
// CHECK-LABEL: func.func @forward
// CHECK: tile.dot {{.*}} {tile.flipped = false, tile.warpgroups = array<i64: 2, 1>, transpose_rhs}
// CHECK: tile.dot {{.*}} {tile.flipped = false, tile.warpgroups = array<i64: 2, 1>}
module attributes {tile.roles = "load", tile.num_warps = 8 : i64} {
  func.func @forward(%q: tensor<128x64xbf16>, %k: tensor<64x64xbf16>, %m: tensor<128xf32>) -> (tensor<128x64xf32>, tensor<128xf32>) {
    %s = tile.dot %q, %k {transpose_rhs} : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    %max = tile.reduce max %s axis 1 : tensor<128x64xf32> -> tensor<128xf32>
    %p = arith.truncf %s : tensor<128x64xf32> to tensor<128x64xbf16>
    %o = tile.dot %p, %k : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    return %o, %max : tensor<128x64xf32>, tensor<128xf32>
  }
}

// -----

// The backward pass of attention: S and dP are flipped, so that dV and dK take their left operands from registers. Two
// warpgroups divide the columns of dQ, which has only 64 rows.
// CHECK-LABEL: func.func @backward
// CHECK: %[[S:.*]] = tile.dot %arg0, %arg1 {tile.flipped = true, tile.warpgroups = array<i64: 2, 1>, transpose_rhs}
// CHECK: tile.dot %arg3, %arg2 {tile.flipped = true, tile.warpgroups = array<i64: 2, 1>, transpose_rhs}
// CHECK: tile.dot {{.*}} {tile.flipped = false, tile.warpgroups = array<i64: 2, 1>, transpose_lhs}
// CHECK: tile.dot {{.*}} {tile.flipped = false, tile.warpgroups = array<i64: 2, 1>, transpose_lhs}
// CHECK: tile.dot {{.*}}, %arg1 {tile.flipped = false, tile.warpgroups = array<i64: 1, 2>}
module attributes {tile.roles = "load", tile.num_warps = 8 : i64} {
  func.func @backward(%q: tensor<64x128xbf16>, %k: tensor<128x128xbf16>, %v: tensor<128x128xbf16>,
      %do: tensor<64x128xbf16>) -> (tensor<128x128xf32>, tensor<128x128xf32>, tensor<64x128xf32>) {
    %s = tile.dot %q, %k {transpose_rhs} : tensor<64x128xbf16>, tensor<128x128xbf16> -> tensor<64x128xf32>
    %p = arith.truncf %s : tensor<64x128xf32> to tensor<64x128xbf16>
    %dp = tile.dot %do, %v {transpose_rhs} : tensor<64x128xbf16>, tensor<128x128xbf16> -> tensor<64x128xf32>
    %0 = arith.mulf %s, %dp : tensor<64x128xf32>
    %ds = arith.truncf %0 : tensor<64x128xf32> to tensor<64x128xbf16>
    %dv = tile.dot %p, %do {transpose_lhs} : tensor<64x128xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
    %dk = tile.dot %ds, %q {transpose_lhs} : tensor<64x128xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
    %dq = tile.dot %ds, %k : tensor<64x128xbf16>, tensor<128x128xbf16> -> tensor<64x128xf32>
    return %dv, %dk, %dq : tensor<128x128xf32>, tensor<128x128xf32>, tensor<64x128xf32>
  }
}

// -----

// Two warpgroups divide the columns of a loaded tile by whole panels of 64, even if the last one has padding. The rows of
// a tile have none.
// CHECK-LABEL: func.func @padded
// CHECK: tile.dot {{.*}} {tile.flipped = false, tile.warpgroups = array<i64: 1, 2>}
// CHECK: tile.dot
// CHECK-NOT: tile.warpgroups
module attributes {tile.roles = "load", tile.num_warps = 8 : i64} {
  func.func @padded(%a: tensor<64x64xbf16>, %K: !tile.view<2xbf16>, %i: index) -> (tensor<64x96xf32>, tensor<64x80xf32>) {
    %k = tile.load %K[%i, %i] : !tile.view<2xbf16> -> tensor<64x96xbf16>
    %0 = tile.dot %a, %k : tensor<64x64xbf16>, tensor<64x96xbf16> -> tensor<64x96xf32>
    %l = tile.load %K[%i, %i] : !tile.view<2xbf16> -> tensor<80x64xbf16>
    // expected-remark @+1 {{is not computed by warpgroups (wgmma)}}
    %1 = tile.dot %a, %l {transpose_rhs} : tensor<64x64xbf16>, tensor<80x64xbf16> -> tensor<64x80xf32>
    return %0, %1 : tensor<64x96xf32>, tensor<64x80xf32>
  }
}

// -----

// Where TMA adds a tile to memory, threads hold it by rows, and each warp has whole panels of 32 columns.
// CHECK-LABEL: func.func @added
// CHECK: tile.dot {{.*}} {tile.flipped = false, tile.warpgroups = array<i64: 1, 2>}
module attributes {tile.add_by_tma = true, tile.roles = "load", tile.num_warps = 8 : i64} {
  func.func @added(%a: tensor<64x64xbf16>, %K: !tile.view<2xbf16>, %sum: !tile.view<2xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    scf.for %i = %c0 to %n step %c64 {
      %k = tile.load %K[%i, %c0] : !tile.view<2xbf16> -> tensor<64x192xbf16>
      %0 = tile.dot %a, %k : tensor<64x64xbf16>, tensor<64x192xbf16> -> tensor<64x192xf32>
      tile.atomic_add %0, %sum[%i, %c0] : tensor<64x192xf32>, !tile.view<2xf32>
    }
    return
  }
}

// -----

// What the program says is kept, and the dot that is tied to it follows.
// CHECK-LABEL: func.func @preset
// CHECK: tile.dot {{.*}} {tile.flipped = true, tile.warpgroups = array<i64: 1, 2>}
// CHECK: tile.dot {{.*}} {tile.flipped = true, tile.warpgroups = array<i64: 1, 2>}
module attributes {tile.roles = "load", tile.num_warps = 8 : i64} {
  func.func @preset(%a: tensor<128x64xf16>, %b: tensor<64x128xf16>) -> tensor<128x128xf32> {
    %0 = tile.dot %a, %b {tile.flipped = true, tile.warpgroups = array<i64: 1, 2>}
      : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
    %1 = tile.dot %a, %b : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
    %2 = arith.addf %0, %1 : tensor<128x128xf32>
    return %2 : tensor<128x128xf32>
  }
}

// -----

// A warpgroup can compute several blocks of 64 rows.
// CHECK-LABEL: func.func @tall
// CHECK: tile.dot {{.*}} {tile.flipped = false, tile.warpgroups = array<i64: 1, 1>}
module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  func.func @tall(%a: tensor<192x64xf16>, %b: tensor<64x64xf16>) -> tensor<192x64xf32> {
    %0 = tile.dot %a, %b {tile.flipped = false} : tensor<192x64xf16>, tensor<64x64xf16> -> tensor<192x64xf32>
    return %0 : tensor<192x64xf32>
  }
}

// -----

module attributes {tile.roles = "load", tile.num_warps = 8 : i64} {
  func.func @impossible_preset(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>) -> tensor<64x64xf32> {
    // expected-error @+1 {{cannot be computed as its attributes say: 64 rows are no multiple of 128, which is 64 for each of 2 warpgroups}}
    %0 = tile.dot %a, %b {tile.flipped = false, tile.warpgroups = array<i64: 2, 1>}
      : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    return %0 : tensor<64x64xf32>
  }
}

// -----

module attributes {tile.roles = "load", tile.num_warps = 8 : i64} {
  func.func @other_number_of_warpgroups(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>) -> tensor<64x64xf32> {
    // expected-error @+1 {{cannot be computed as its attributes say: the module has other warpgroups}}
    %0 = tile.dot %a, %b {tile.warpgroups = array<i64: 1, 1>}
      : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    return %0 : tensor<64x64xf32>
  }
}

// -----

// Warpgroups multiply f32 if the program allows tf32 and whole panels hold the operands.
// CHECK-LABEL: func.func @tf32
// CHECK: tile.dot {{.*}} {allow_tf32, tile.flipped = false, tile.warpgroups = array<i64: 1, 1>}
// CHECK-NOT: tile.warpgroups
module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  func.func @tf32(%a: tensor<64x32xf32>, %b: tensor<32x96xf32>, %c: tensor<64x16xf32>, %d: tensor<16x96xf32>)
      -> (tensor<64x96xf32>, tensor<64x96xf32>) {
    %0 = tile.dot %a, %b {allow_tf32} : tensor<64x32xf32>, tensor<32x96xf32> -> tensor<64x96xf32>
    // expected-remark @+1 {{is not computed by warpgroups (wgmma): its depth of 16 and its 96 columns must be multiples of 32 for operands of f32}}
    %1 = tile.dot %c, %d {allow_tf32} : tensor<64x16xf32>, tensor<16x96xf32> -> tensor<64x96xf32>
    return %0, %1 : tensor<64x96xf32>, tensor<64x96xf32>
  }
}

// -----

// Warpgroups multiply e4m3 where whole panels hold the operands, of 128 elements.
// CHECK-LABEL: func.func @e4m3
// CHECK: tile.dot {{.*}} {tile.flipped = false, tile.warpgroups = array<i64: 1, 1>}
// CHECK-NOT: tile.warpgroups
module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  func.func @e4m3(%a: tensor<64x128xf8E4M3FN>, %b: tensor<128x128xf8E4M3FN>, %c: tensor<64x64xf8E4M3FN>,
                  %d: tensor<64x128xf8E4M3FN>) -> (tensor<64x128xf32>, tensor<64x128xf32>) {
    %0 = tile.dot %a, %b : tensor<64x128xf8E4M3FN>, tensor<128x128xf8E4M3FN> -> tensor<64x128xf32>
    // expected-remark @+1 {{is not computed by warpgroups (wgmma): its depth of 64 and its 128 columns must be multiples of 128 for operands of f8E4M3FN}}
    %1 = tile.dot %c, %d : tensor<64x64xf8E4M3FN>, tensor<64x128xf8E4M3FN> -> tensor<64x128xf32>
    return %0, %1 : tensor<64x128xf32>, tensor<64x128xf32>
  }
}

// -----

// Each dot without warpgroups has its reason.
// CHECK-LABEL: func.func @missed
// CHECK-NOT: tile.warpgroups
module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  func.func @missed(%a: tensor<48x32xbf16>, %x: tensor<64x32xf32>) -> (tensor<48x48xf32>, tensor<64x64xf32>) {
    // expected-remark @+1 {{is not computed by warpgroups (wgmma): neither 48 rows nor 48 columns are a multiple of 64}}
    %0 = tile.dot %a, %a {transpose_rhs} : tensor<48x32xbf16>, tensor<48x32xbf16> -> tensor<48x48xf32>
    // expected-remark @+1 {{is not computed by tensor cores: f32 is multiplied exactly; cast the operands to bf16 or f16, or give the dot Precision::tf32}}
    %1 = tile.dot %x, %x {transpose_rhs} : tensor<64x32xf32>, tensor<64x32xf32> -> tensor<64x64xf32>
    return %0, %1 : tensor<48x48xf32>, tensor<64x64xf32>
  }
}

// -----

// Without roles, all dots keep the grid that assign-layouts chooses.
// CHECK-LABEL: func.func @without_roles
// CHECK: tile.dot %arg0, %arg0 {transpose_rhs} :
func.func @without_roles(%a: tensor<64x32xbf16>) -> tensor<64x64xf32> {
  %0 = tile.dot %a, %a {transpose_rhs} : tensor<64x32xbf16>, tensor<64x32xbf16> -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// -----

// A GPU with tensor memory: a dot that a loop only adds to, from 0 on.
// CHECK-LABEL: func.func @in_tensor_memory
// CHECK: tile.dot {{.*}} {tile.in_tensor_memory}
module attributes {tile.roles = "load", tile.has_tensor_memory = true, tile.num_warps = 4 : i64} {
  func.func @in_tensor_memory(%a: !tile.view<2xbf16>, %n: index) -> tensor<128x128xf32> {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<128x128xf32>
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> tensor<128x128xf32> {
      %x = tile.load %a[%c0, %k] : !tile.view<2xbf16> -> tensor<128x64xbf16>
      %y = tile.load %a[%k, %c0] : !tile.view<2xbf16> -> tensor<64x128xbf16>
      %s = tile.dot %x, %y acc %c : tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32> -> tensor<128x128xf32>
      scf.yield %s : tensor<128x128xf32>
    }
    return %r : tensor<128x128xf32>
  }
}

// -----

// A GPU with tensor memory has no wgmma. Other dots keep mma.sync.
// CHECK-LABEL: func.func @not_in_tensor_memory
// CHECK-NOT: tile.warpgroups
// CHECK-NOT: tile.in_tensor_memory
module attributes {tile.roles = "load", tile.has_tensor_memory = true, tile.num_warps = 4 : i64} {
  func.func @not_in_tensor_memory(%a: tensor<128x64xf16>, %b: tensor<64x128xf16>, %c: tensor<64x64xf16>)
      -> (tensor<128x128xf32>, tensor<64x128xf32>) {
    // expected-remark @+1 {{is not computed in tensor memory (tcgen05): it is not all that adds to its accumulators in a loop, from 0 on}}
    %0 = tile.dot %a, %b : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
    // expected-remark @+1 {{it has 64 rows, 128 columns and a depth of 64; legal are 128 rows, and multiples of 64 for the others, of which at most 256 columns}}
    %1 = tile.dot %c, %b : tensor<64x64xf16>, tensor<64x128xf16> -> tensor<64x128xf32>
    return %0, %1 : tensor<128x128xf32>, tensor<64x128xf32>
  }
}

// -----

module attributes {tile.roles = "load", tile.has_tensor_memory = true, tile.num_warps = 4 : i64} {
  func.func @cannot_be_in_tensor_memory(%a: tensor<128x64xf32>, %b: tensor<64x128xf32>) -> tensor<128x128xf32> {
    // expected-error @+1 {{cannot be computed as its attributes say: its operands are not both bf16 or both f16; cast them}}
    %0 = tile.dot %a, %b {allow_tf32, tile.in_tensor_memory}
      : tensor<128x64xf32>, tensor<64x128xf32> -> tensor<128x128xf32>
    return %0 : tensor<128x128xf32>
  }
}
