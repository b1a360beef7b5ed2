// RUN: tegula-opt %s --choose-schedule --split-input-file --verify-diagnostics | FileCheck %s

// Each of eight warps has rows of its own. Shared memory has room for more than four stages, which are the most.
// CHECK: module attributes {
// CHECK-SAME: tile.chosen = ["num_warps", "num_stages", "roles", "instances_per_sm"]
// CHECK-SAME: tile.instances_per_sm = 1
// CHECK-SAME: tile.neighbours = []
// CHECK-SAME: tile.num_stages = 4
// CHECK-SAME: tile.num_warps = 8
// CHECK-SAME: tile.roles = "load"
// CHECK-LABEL: func.func @product
module attributes {tile.has_wgmma = true, tile.shared_limit = 232448 : i64} {
  func.func @product(%a: !tile.view<2xbf16>, %b: !tile.view<2xbf16>, %n: index, %zero: tensor<128x128xf32>) -> tensor<128x128xf32> {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %sum = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> tensor<128x128xf32> {
      %x = tile.load %a[%c0, %k] : !tile.view<2xbf16> -> tensor<128x64xbf16>
      %y = tile.load %b[%k, %c0] : !tile.view<2xbf16> -> tensor<64x128xbf16>
      %next = tile.dot %x, %y acc %acc : tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32> -> tensor<128x128xf32>
      scf.yield %next : tensor<128x128xf32>
    }
    return %sum : tensor<128x128xf32>
  }
}

// -----

// A GPU without wgmma has no roles, and no obstacles.
// CHECK: module attributes {{.*}}tile.num_stages = 2 {{.*}}tile.num_warps = 4 {{.*}}tile.roles = "none"
// CHECK-LABEL: func.func @without_wgmma
module attributes {tile.shared_limit = 166912 : i64} {
  func.func @without_wgmma(%a: !tile.view<2xbf16>, %n: index, %zero: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %sum = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> tensor<64x64xf32> {
      %x = tile.load %a[%c0, %k] : !tile.view<2xbf16> -> tensor<64x64xbf16>
      %next = tile.dot %x, %x acc %acc : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    return %sum : tensor<64x64xf32>
  }
}

// -----

// Fields that are there stay. With num_stages=3, rings have three slots.
// CHECK: module attributes {
// CHECK-SAME: tile.chosen = ["num_warps", "roles", "instances_per_sm"]
// CHECK-SAME: tile.num_stages = 3
// CHECK-SAME: tile.num_warps = 4
// CHECK-SAME: tile.roles = "load"
// CHECK-LABEL: func.func @given_stages
module attributes {tile.has_wgmma = true, tile.num_stages = 3 : i64} {
  func.func @given_stages(%a: !tile.view<2xbf16>, %n: index, %zero: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %sum = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> tensor<64x64xf32> {
      %x = tile.load %a[%c0, %k] : !tile.view<2xbf16> -> tensor<64x64xbf16>
      %next = tile.dot %x, %x acc %acc : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    return %sum : tensor<64x64xf32>
  }
}

// -----

// A module with neighbours has a complete schedule.
// CHECK: module attributes {tile.has_wgmma = true, tile.neighbours = []} {
// CHECK-LABEL: func.func @complete
module attributes {tile.has_wgmma = true, tile.neighbours = []} {
  func.func @complete() {
    return
  }
}

// -----

// Stages have the bytes of whole panels: a tile of 80 columns takes as much memory as one of 128. There are fewer than four.
// CHECK: module attributes {{.*}}tile.num_stages = 3
// CHECK-LABEL: func.func @padded_columns
module attributes {tile.has_wgmma = true, tile.shared_limit = 112640 : i64} {
  func.func @padded_columns(%a: !tile.view<2xbf16>, %b: !tile.view<2xbf16>, %n: index, %zero: tensor<128x80xf32>) -> tensor<128x80xf32> {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %sum = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> tensor<128x80xf32> {
      %x = tile.load %a[%c0, %k] : !tile.view<2xbf16> -> tensor<128x64xbf16>
      %y = tile.load %b[%k, %c0] : !tile.view<2xbf16> -> tensor<64x80xbf16>
      %next = tile.dot %x, %y acc %acc : tensor<128x64xbf16>, tensor<64x80xbf16>, tensor<128x80xf32> -> tensor<128x80xf32>
      scf.yield %next : tensor<128x80xf32>
    }
    return %sum : tensor<128x80xf32>
  }
}

// -----

// An online softmax between two products overlaps with them. A warp has whole rows of it.
// CHECK: module attributes {{.*}}tile.num_warps = 8 {{.*}}tile.overlap = "pingpong", tile.roles = "load"
// CHECK-LABEL: func.func @softmax
module attributes {tile.has_wgmma = true} {
  func.func @softmax(%q: tensor<128x64xbf16>, %k: !tile.view<2xbf16>, %n: index, %row: tensor<128xf32>, %zero: tensor<128x64xf32>)
      -> tensor<128x64xf32> {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %r:3 = scf.for %j = %c0 to %n step %c64 iter_args(%m = %row, %l = %row, %o = %zero)
        -> (tensor<128xf32>, tensor<128xf32>, tensor<128x64xf32>) {
      %x = tile.load %k[%j, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
      %s = tile.dot %q, %x {transpose_rhs} : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      %next:3 = tile.softmax_update %s, %x, %m, %l, %o
        : tensor<128x64xf32>, tensor<64x64xbf16>, tensor<128xf32>, tensor<128xf32>, tensor<128x64xf32>
      scf.yield %next#0, %next#1, %next#2 : tensor<128xf32>, tensor<128xf32>, tensor<128x64xf32>
    }
    return %r#2 : tensor<128x64xf32>
  }
}

// -----

// CHECK: module attributes {{.*}}tile.roles = "none"
// CHECK-LABEL: func.func @rows_of_a_softmax
module attributes {tile.has_wgmma = true} {
  func.func @rows_of_a_softmax(%q: tensor<32x64xbf16>, %k: !tile.view<2xbf16>, %n: index, %row: tensor<32xf32>, %zero: tensor<32x64xf32>)
      -> tensor<32x64xf32> {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %r:3 = scf.for %j = %c0 to %n step %c64 iter_args(%m = %row, %l = %row, %o = %zero)
        -> (tensor<32xf32>, tensor<32xf32>, tensor<32x64xf32>) {
      %x = tile.load %k[%j, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
      // expected-remark-re @+1 {{roles=none: the dot at {{.*}}choose-schedule.mlir:133 prevents roles=load for all}}
      %s = tile.dot %q, %x {transpose_rhs} : tensor<32x64xbf16>, tensor<64x64xbf16> -> tensor<32x64xf32>
      // expected-remark @+1 {{a warp has whole rows of an online softmax, whose output has 32 rows; legal are 64, 128 or 192 rows and at most 256 columns}}
      %next:3 = tile.softmax_update %s, %x, %m, %l, %o
        : tensor<32x64xf32>, tensor<64x64xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32x64xf32>
      scf.yield %next#0, %next#1, %next#2 : tensor<32xf32>, tensor<32xf32>, tensor<32x64xf32>
    }
    return %r#2 : tensor<32x64xf32>
  }
}

// -----

// A product of 32 rows is computed as its transpose: two warpgroups divide its 128 columns.
// CHECK: module attributes {{.*}}tile.num_warps = 8 {{.*}}tile.roles = "load"
// CHECK-LABEL: func.func @few_rows
module attributes {tile.has_wgmma = true} {
  func.func @few_rows(%a: !tile.view<2xbf16>, %b: !tile.view<2xbf16>, %n: index, %zero: tensor<32x128xf32>) -> tensor<32x128xf32> {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %sum = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> tensor<32x128xf32> {
      %x = tile.load %a[%c0, %k] : !tile.view<2xbf16> -> tensor<32x64xbf16>
      %y = tile.load %b[%k, %c0] : !tile.view<2xbf16> -> tensor<64x128xbf16>
      %next = tile.dot %x, %y acc %acc : tensor<32x64xbf16>, tensor<64x128xbf16>, tensor<32x128xf32> -> tensor<32x128xf32>
      scf.yield %next : tensor<32x128xf32>
    }
    return %sum : tensor<32x128xf32>
  }
}

// -----

// The reasons are those of plan-products.
// CHECK: module attributes {{.*}}tile.roles = "none"
// CHECK-LABEL: func.func @no_side_of_64
module attributes {tile.has_wgmma = true} {
  func.func @no_side_of_64(%a: !tile.view<2xbf16>, %b: !tile.view<2xbf16>, %n: index, %zero: tensor<32x96xf32>) -> tensor<32x96xf32> {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %sum = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> tensor<32x96xf32> {
      %x = tile.load %a[%c0, %k] : !tile.view<2xbf16> -> tensor<32x64xbf16>
      %y = tile.load %b[%k, %c0] : !tile.view<2xbf16> -> tensor<64x96xbf16>
      // expected-remark @+1 {{roles=none: neither 32 rows nor 96 columns are a multiple of 64}}
      %next = tile.dot %x, %y acc %acc : tensor<32x64xbf16>, tensor<64x96xbf16>, tensor<32x96xf32> -> tensor<32x96xf32>
      scf.yield %next : tensor<32x96xf32>
    }
    return %sum : tensor<32x96xf32>
  }
}

// -----

// The accumulators of 64 x 64 elements and four stages have room three times in a multiprocessor.
// CHECK: module attributes {{.*}}tile.instances_per_sm = 3 {{.*}}tile.neighbours = [], tile.num_stages = 4 {{.*}}tile.num_warps = 4 {{.*}}tile.shared_limit = 76800
// CHECK-LABEL: func.func @several_instances
module attributes {tile.has_wgmma = true, tile.shared_limit = 232448 : i64} {
  func.func @several_instances(%a: !tile.view<2xbf16>, %b: !tile.view<2xbf16>, %n: index, %zero: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %sum = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> tensor<64x64xf32> {
      %x = tile.load %a[%c0, %k] : !tile.view<2xbf16> -> tensor<64x64xbf16>
      %y = tile.load %b[%k, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
      %next = tile.dot %x, %y acc %acc : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    return %sum : tensor<64x64xf32>
  }
}

// -----

// A loop that loads no operand has no use for several instances, although its roles are given.
// CHECK: module attributes {{.*}}tile.instances_per_sm = 1
// CHECK-LABEL: func.func @no_loads
module attributes {tile.has_wgmma = true, tile.roles = "load", tile.shared_limit = 232448 : i64} {
  func.func @no_loads(%x: tensor<64x64xbf16>, %y: tensor<64x64xbf16>, %n: index, %zero: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %sum = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> tensor<64x64xf32> {
      %next = tile.dot %x, %y acc %acc : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    return %sum : tensor<64x64xf32>
  }
}

// -----

// TMA would load the rows of 32 columns as slowly as those of 64.
// CHECK: module attributes {{.*}}tile.roles = "none"
// CHECK-LABEL: func.func @short_rows
module attributes {tile.has_wgmma = true} {
  func.func @short_rows(%a: !tile.view<2xbf16>, %b: !tile.view<2xbf16>, %n: index, %zero: tensor<64x32xf32>) -> tensor<64x32xf32> {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %sum = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> tensor<64x32xf32> {
      %x = tile.load %a[%c0, %k] : !tile.view<2xbf16> -> tensor<64x64xbf16>
      %y = tile.load %b[%k, %c0] : !tile.view<2xbf16> -> tensor<64x32xbf16>
      // expected-remark @+1 {{TMA would load the right operand in rows of 64 bytes, and takes as long for 128; use wider tiles}}
      %next = tile.dot %x, %y acc %acc : tensor<64x64xbf16>, tensor<64x32xbf16>, tensor<64x32xf32> -> tensor<64x32xf32>
      scf.yield %next : tensor<64x32xf32>
    }
    return %sum : tensor<64x32xf32>
  }
}

// -----

// Products of 32 rows whose results no other product reads exchange nothing.
// CHECK: module attributes {{.*}}tile.roles = "load"
// CHECK-LABEL: func.func @few_rows_from_outside
module attributes {tile.has_wgmma = true} {
  func.func @few_rows_from_outside(%q: tensor<32x64xbf16>, %k: !tile.view<2xbf16>, %n: index, %zero: tensor<32x128xf32>) -> tensor<32x128xf32> {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %sum = scf.for %j = %c0 to %n step %c128 iter_args(%acc = %zero) -> tensor<32x128xf32> {
      %x = tile.load %k[%j, %c0] : !tile.view<2xbf16> -> tensor<128x64xbf16>
      %s = tile.dot %q, %x {transpose_rhs} : tensor<32x64xbf16>, tensor<128x64xbf16> -> tensor<32x128xf32>
      %next = arith.maximumf %s, %acc : tensor<32x128xf32>
      scf.yield %next : tensor<32x128xf32>
    }
    return %sum : tensor<32x128xf32>
  }
}

// -----

// A tile that the loop carries beside the accumulators takes registers, too. Others may spill, so that one instance is
// the neighbour.
// CHECK: module attributes {{.*}}tile.instances_per_sm = 3 {{.*}}tile.neighbours = ["num_warps=4 num_stages=4 roles=load instances_per_sm=1"]
// CHECK-LABEL: func.func @carried_tile
module attributes {tile.has_wgmma = true} {
  func.func @carried_tile(%a: !tile.view<2xbf16>, %b: !tile.view<2xbf16>, %n: index, %zero: tensor<64x64xf32>, %one: tensor<64x96xf32>)
      -> (tensor<64x64xf32>, tensor<64x96xf32>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %r:2 = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero, %power = %one) -> (tensor<64x64xf32>, tensor<64x96xf32>) {
      %x = tile.load %a[%c0, %k] : !tile.view<2xbf16> -> tensor<64x64xbf16>
      %y = tile.load %b[%k, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
      %next = tile.dot %x, %y acc %acc : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      %twice = arith.addf %power, %power : tensor<64x96xf32>
      scf.yield %next, %twice : tensor<64x64xf32>, tensor<64x96xf32>
    }
    return %r#0, %r#1 : tensor<64x64xf32>, tensor<64x96xf32>
  }
}

// -----

// An MMA of 128 columns needs more registers than three instances leave a thread at the launch.
// CHECK: module attributes {{.*}}tile.instances_per_sm = 2 {{.*}}tile.num_warps = 4
// CHECK-LABEL: func.func @wide_mma
module attributes {tile.has_wgmma = true, tile.shared_limit = 232448 : i64} {
  func.func @wide_mma(%a: !tile.view<2xbf16>, %b: !tile.view<2xbf16>, %n: index, %zero: tensor<64x128xf32>) -> tensor<64x128xf32> {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %sum = scf.for %k = %c0 to %n step %c32 iter_args(%acc = %zero) -> tensor<64x128xf32> {
      %x = tile.load %a[%c0, %k] : !tile.view<2xbf16> -> tensor<64x32xbf16>
      %y = tile.load %b[%k, %c0] : !tile.view<2xbf16> -> tensor<32x128xbf16>
      %next = tile.dot %x, %y acc %acc : tensor<64x32xbf16>, tensor<32x128xbf16>, tensor<64x128xf32> -> tensor<64x128xf32>
      scf.yield %next : tensor<64x128xf32>
    }
    return %sum : tensor<64x128xf32>
  }
}

// -----

// The caller's number stays, and the shared memory is already that of one of them.
// CHECK: module attributes {{.*}}tile.instances_per_sm = 1 {{.*}}tile.roles = "load", tile.shared_limit = 232448
// CHECK-LABEL: func.func @given_instances
module attributes {tile.has_wgmma = true, tile.instances_per_sm = 1 : i64, tile.shared_limit = 232448 : i64} {
  func.func @given_instances(%a: !tile.view<2xbf16>, %b: !tile.view<2xbf16>, %n: index, %zero: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %sum = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> tensor<64x64xf32> {
      %x = tile.load %a[%c0, %k] : !tile.view<2xbf16> -> tensor<64x64xbf16>
      %y = tile.load %b[%k, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
      %next = tile.dot %x, %y acc %acc : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    return %sum : tensor<64x64xf32>
  }
}

// -----

// Two warpgroups that share products of 32 rows would have to exchange their results.
// CHECK: module attributes {{.*}}tile.roles = "none"
// CHECK-LABEL: func.func @exchange_of_few_rows
module attributes {tile.has_wgmma = true} {
  func.func @exchange_of_few_rows(%q: tensor<32x64xbf16>, %k: !tile.view<2xbf16>, %n: index, %zero: tensor<32x64xf32>) -> tensor<32x64xf32> {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %sum = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %zero) -> tensor<32x64xf32> {
      %x = tile.load %k[%j, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
      // expected-remark @+1 {{two warpgroups would exchange tiles of 32 rows, which costs more time than they gain; legal are 64 rows or more}}
      %s = tile.dot %q, %x {transpose_rhs} : tensor<32x64xbf16>, tensor<64x64xbf16> -> tensor<32x64xf32>
      %p = arith.truncf %s : tensor<32x64xf32> to tensor<32x64xbf16>
      // expected-remark-re @+1 {{roles=none: the dot at {{.*}} prevents roles=load for all}}
      %next = tile.dot %p, %x acc %acc : tensor<32x64xbf16>, tensor<64x64xbf16>, tensor<32x64xf32> -> tensor<32x64xf32>
      scf.yield %next : tensor<32x64xf32>
    }
    return %sum : tensor<32x64xf32>
  }
}

// -----

// Accumulators that take most of a thread's registers may spill. Other schedules are for that case.
// CHECK: module attributes {{.*}}tile.neighbours = [
// CHECK-SAME: "num_warps=8 num_stages=4 roles=load overlap=none instances_per_sm=1",
// CHECK-SAME: "num_warps=8 num_stages=4 roles=load overlap=none steps=\22s o\22 instances_per_sm=1",
// CHECK-SAME: "num_warps=4 num_stages=2 roles=none instances_per_sm=1",
// CHECK-SAME: "num_warps=8 num_stages=2 roles=none instances_per_sm=1",
// CHECK-SAME: "num_warps=16 num_stages=2 roles=none instances_per_sm=1"]
// CHECK-LABEL: func.func @many_accumulators
module attributes {tile.has_wgmma = true, tile.shared_limit = 232448 : i64} {
  func.func @many_accumulators(%q: tensor<128x64xbf16>, %k: !tile.view<2xbf16>, %v: !tile.view<2xbf16>, %n: index,
                               %zero: tensor<128x256xf32>) -> tensor<128x256xf32> {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %sum = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %zero) -> tensor<128x256xf32> {
      %x = tile.load %k[%j, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
      %s = tile.dot %q, %x {tile.label = "s", transpose_rhs} : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      %p = arith.truncf %s : tensor<128x64xf32> to tensor<128x64xbf16>
      %y = tile.load %v[%j, %c0] : !tile.view<2xbf16> -> tensor<64x256xbf16>
      %next = tile.dot %p, %y acc %acc {tile.label = "o"}
        : tensor<128x64xbf16>, tensor<64x256xbf16>, tensor<128x256xf32> -> tensor<128x256xf32>
      scf.yield %next : tensor<128x256xf32>
    }
    return %sum : tensor<128x256xf32>
  }
}
