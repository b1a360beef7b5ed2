// RUN: tegula-opt --plan-roles --split-input-file --verify-diagnostics %s | FileCheck %s

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

// A load, its loop and its function say what the roles will do.
// CHECK-LABEL: func.func @a_plan
// CHECK-SAME: attributes {sm.roles = [#sm.role<"compute" warps 8 registers 232>, #sm.role<"load" warps 1 registers 40>]}
// CHECK: sm.load_shared %{{.*}} [128, 64] {tile.role = "load"}
// CHECK: scf.for
// CHECK: sm.load_shared %{{.*}} [64, 64] {tile.role = "load"}
// CHECK: } {tile.slots = 3 : i64}
module attributes {tile.roles = "load", tile.num_warps = 8 : i64, tile.num_stages = 3 : i64} {
  func.func @a_plan(%q: !tile.view<2xbf16>, %k: !tile.view<2xbf16>, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32, #c>
    %qs = sm.load_shared %q[%c0, %c0] [128, 64] : !tile.view<2xbf16> -> !sm.shared<128x64xbf16, 128>
    %r = scf.for %j = %c0 to %n step %c64 iter_args(%sum = %zero) -> tensor<128x64xf32, #c> {
      %ks = sm.load_shared %k[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %f = sm.wgmma %qs, %ks depth 64 acc %sum {transpose_rhs}
        : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<128x64xf32, #c>
        -> !sm.inflight<tensor<128x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<128x64xf32, #c>>
      scf.yield %s : tensor<128x64xf32, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

// Attributes of the program stay: one load is for all warps, the loop has four slots, and the roles their registers.
// CHECK-LABEL: func.func @presets
// CHECK-SAME: attributes {sm.roles = [#sm.role<"compute" warps 8 registers 216>, #sm.role<"load" warps 1 registers 56>]}
// CHECK: sm.load_shared %{{.*}} [128, 64] {tile.role = "compute"}
// CHECK: sm.load_shared %{{.*}} [64, 64] {tile.role = "load"}
// CHECK: } {tile.slots = 4 : i64}
module attributes {tile.roles = "load", tile.num_warps = 8 : i64, tile.num_stages = 3 : i64} {
  func.func @presets(%q: !tile.view<2xbf16>, %k: !tile.view<2xbf16>, %n: index) attributes {
      sm.roles = [#sm.role<"compute" warps 8 registers 216>, #sm.role<"load" warps 1 registers 56>]} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32, #c>
    %qs = sm.load_shared %q[%c0, %c0] [128, 64] {tile.role = "compute"}
      : !tile.view<2xbf16> -> !sm.shared<128x64xbf16, 128>
    %r = scf.for %j = %c0 to %n step %c64 iter_args(%sum = %zero) -> tensor<128x64xf32, #c> {
      %ks = sm.load_shared %k[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %f = sm.wgmma %qs, %ks depth 64 acc %sum {transpose_rhs}
        : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<128x64xf32, #c>
        -> !sm.inflight<tensor<128x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<128x64xf32, #c>>
      scf.yield %s : tensor<128x64xf32, #c>
    } {tile.slots = 4 : i64}
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// A tile for registers stays where it is if its ring does not fit. A preset comes first, fit or not.
// CHECK-LABEL: func.func @presets_take_the_room
// CHECK: tile.load %arg1{{.*}} : !tile.view<2xf32>
// CHECK: tile.load %arg2{{.*}} {tile.role = "load"}
module attributes {tile.roles = "load", tile.num_warps = 4 : i64, tile.shared_limit = 60000 : i64} {
  func.func @presets_take_the_room(%k: !tile.view<2xbf16>, %first: !tile.view<2xf32>, %second: !tile.view<2xf32>,
                                   %n: index, %q: !sm.shared<64x64xbf16, 128>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
    %r = scf.for %j = %c0 to %n step %c64 iter_args(%sum = %zero) -> tensor<64x64xf32, #c> {
      %ks = sm.load_shared %k[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %a = tile.load %first[%j, %c0] : !tile.view<2xf32> -> tensor<64x64xf32, #c>
      %b = tile.load %second[%j, %c0] {tile.role = "load"} : !tile.view<2xf32> -> tensor<64x64xf32, #c>
      %f = sm.wgmma %q, %ks depth 64 acc %sum {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
      %t = arith.addf %s, %a : tensor<64x64xf32, #c>
      %u = arith.addf %t, %b : tensor<64x64xf32, #c>
      scf.yield %u : tensor<64x64xf32, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// A preset that keeps a tile with all warps leaves the room to another tile.
// CHECK-LABEL: func.func @a_kept_tile_takes_no_room
// CHECK: tile.load %arg1{{.*}} {tile.role = "load"}
// CHECK: tile.load %arg2{{.*}} {tile.role = "compute"}
module attributes {tile.roles = "load", tile.num_warps = 4 : i64, tile.shared_limit = 60000 : i64} {
  func.func @a_kept_tile_takes_no_room(%k: !tile.view<2xbf16>, %first: !tile.view<2xf32>, %second: !tile.view<2xf32>,
                                   %n: index, %q: !sm.shared<64x64xbf16, 128>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
    %r = scf.for %j = %c0 to %n step %c64 iter_args(%sum = %zero) -> tensor<64x64xf32, #c> {
      %ks = sm.load_shared %k[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %a = tile.load %first[%j, %c0] : !tile.view<2xf32> -> tensor<64x64xf32, #c>
      %b = tile.load %second[%j, %c0] {tile.role = "compute"} : !tile.view<2xf32> -> tensor<64x64xf32, #c>
      %f = sm.wgmma %q, %ks depth 64 acc %sum {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
      %t = arith.addf %s, %a : tensor<64x64xf32, #c>
      %u = arith.addf %t, %b : tensor<64x64xf32, #c>
      scf.yield %u : tensor<64x64xf32, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  func.func @an_impossible_role(%q: !sm.shared<64x64xbf16, 128>, %k: !tile.view<2xbf16> {tile.written}, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    scf.for %j = %c0 to %n step %c64 {
      // expected-error @+1 {{has tile.role = "load", but that role cannot load the tile: the kernel writes its tensor}}
      %ks = sm.load_shared %k[%j, %c0] [64, 64] {tile.role = "load"}
        : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %f = sm.wgmma %q, %ks depth 64 {transpose_rhs} : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
    }
    return
  }
}

// -----

module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  func.func @an_unknown_role(%k: !tile.view<2xbf16>) {
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{has tile.role = "fetch", but legal are 'load' and 'compute'}}
    %ks = sm.load_shared %k[%c0, %c0] [64, 64] {tile.role = "fetch"}
      : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
    return
  }
}

// -----

module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  func.func @no_slots(%n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @+1 {{has tile.slots of 0; a ring has one slot at least}}
    scf.for %j = %c0 to %n step %c1 {
    } {tile.slots = 0 : i64}
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:16:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

// A loaded tile whose transpose MMAs read gets a third role, which holds the tile in registers.
// CHECK-LABEL: func.func @transposed
// CHECK-SAME: sm.roles = [#sm.role<"compute" warps 8 registers 200>, #sm.role<"transpose" warps 2 registers 104>, #sm.role<"load" warps 1 registers 104>]
// CHECK: sm.load_shared %{{.*}} [128, 32] {tile.role = "load"}
// CHECK: sm.load_shared %{{.*}} [32, 128] {tile.role = "load"}
// CHECK: sm.transpose %{{.*}} {tile.role = "transpose"}
module attributes {tile.roles = "load", tile.num_warps = 8 : i64} {
  func.func @transposed(%a: !tile.view<2xf32>, %b: !tile.view<2xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : tensor<128x128xf32, #c>
    %r = scf.for %k = %c0 to %n step %c32 iter_args(%sum = %zero) -> tensor<128x128xf32, #c> {
      %as = sm.load_shared %a[%c0, %k] [128, 32] : !tile.view<2xf32> -> !sm.shared<128x32xf32, 128>
      %bs = sm.load_shared %b[%k, %c0] [32, 128] : !tile.view<2xf32> -> !sm.shared<32x128xf32, 128>
      %bt = sm.transpose %bs : !sm.shared<32x128xf32, 128> -> !sm.shared<128x32xf32, 128>
      %f = sm.wgmma %as, %bt depth 32 acc %sum {transpose_rhs}
        : !sm.shared<128x32xf32, 128>, !sm.shared<128x32xf32, 128>, tensor<128x128xf32, #c>
        -> !sm.inflight<tensor<128x128xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<128x128xf32, #c>>
      scf.yield %s : tensor<128x128xf32, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:16:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

// If all warps load the tile, they transpose it, too.
// CHECK-LABEL: func.func @transposed_by_all_warps
// CHECK-SAME: sm.roles = [#sm.role<"compute" warps 8 registers 232>, #sm.role<"load" warps 1 registers 40>]
// CHECK: sm.transpose %{{[0-9]+}} :
module attributes {tile.roles = "load", tile.num_warps = 8 : i64} {
  func.func @transposed_by_all_warps(%a: !tile.view<2xf32>, %b: !tile.view<2xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : tensor<128x128xf32, #c>
    %r = scf.for %k = %c0 to %n step %c32 iter_args(%sum = %zero) -> tensor<128x128xf32, #c> {
      %as = sm.load_shared %a[%c0, %k] [128, 32] : !tile.view<2xf32> -> !sm.shared<128x32xf32, 128>
      %bs = sm.load_shared %b[%k, %c0] [32, 128] {tile.role = "compute"} : !tile.view<2xf32> -> !sm.shared<32x128xf32, 128>
      %bt = sm.transpose %bs : !sm.shared<32x128xf32, 128> -> !sm.shared<128x32xf32, 128>
      %f = sm.wgmma %as, %bt depth 32 acc %sum {transpose_rhs}
        : !sm.shared<128x32xf32, 128>, !sm.shared<128x32xf32, 128>, tensor<128x128xf32, #c>
        -> !sm.inflight<tensor<128x128xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<128x128xf32, #c>>
      scf.yield %s : tensor<128x128xf32, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:16:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

// A tile that MMAs read in both ways, and one that is too large for the registers of the role.
module attributes {tile.roles = "load", tile.num_warps = 8 : i64} {
  // expected-remark @+1 {{roles=load has no effect}}
  func.func @no_role_transposes(%a: !tile.view<2xf32>, %b: !tile.view<2xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    scf.for %k = %c0 to %n step %c128 {
      // expected-remark @+1 {{all warps copy this tile, not the producer: ops other than MMAs of its block read its transpose, or MMAs read the tile and its transpose}}
      %as = sm.load_shared %a[%c0, %k] [128, 128] : !tile.view<2xf32> -> !sm.shared<128x128xf32, 128>
      %at = sm.transpose %as : !sm.shared<128x128xf32, 128> -> !sm.shared<128x128xf32, 128>
      // expected-remark @+1 {{all warps copy this tile, not the producer: a role transposes tiles of at most 16384 bytes, in registers}}
      %bs = sm.load_shared %b[%k, %c0] [128, 128] : !tile.view<2xf32> -> !sm.shared<128x128xf32, 128>
      %bt = sm.transpose %bs : !sm.shared<128x128xf32, 128> -> !sm.shared<128x128xf32, 128>
      %f = sm.wgmma %as, %bt depth 128 {transpose_rhs} : !sm.shared<128x128xf32, 128>, !sm.shared<128x128xf32, 128>
        -> !sm.inflight<tensor<128x128xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<128x128xf32, #c>>
      %g = sm.wgmma %at, %bt depth 128 {transpose_rhs} : !sm.shared<128x128xf32, 128>, !sm.shared<128x128xf32, 128>
        -> !sm.inflight<tensor<128x128xf32, #c>>
      %t = sm.await %g : !sm.inflight<tensor<128x128xf32, #c>>
    }
    return
  }
}
