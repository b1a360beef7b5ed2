// RUN: tegula-opt %s --plan-products --assign-layouts --split-input-file | FileCheck %s

// Two dots with a row maximum between them: the warps divide the rows of both, and the result of the first dot in
// registers is an operand of the second.
// CHECK-DAG: #[[S:.*]] = #sm.layout<registers = [1:2:1, 0:2:8, 1:4:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
// CHECK-DAG: #[[ROWS:.*]] = #sm.layout<registers = [0:2:8], lanes = [*:4, 0:8:1], warps = [0:4:16]>
// CHECK-DAG: #[[O:.*]] = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
// CHECK-LABEL: func.func @chained
// CHECK: %[[Q:.*]] = sm.load_shared %arg0[%c0, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
// CHECK: %[[K:.*]] = sm.load_shared %arg1[%c0, %c0] [32, 64] : !tile.view<2xbf16> -> !sm.shared<32x64xbf16, 128>
// CHECK: %[[S_:.*]] = sm.mma %[[Q]], %[[K]] depth 64 {transpose_rhs}
// CHECK-SAME: -> tensor<64x32xf32, #[[S]]>
// CHECK: tile.reduce max %[[S_]] axis 1 : tensor<64x32xf32, #[[S]]> -> tensor<64xf32, #[[ROWS]]>
// CHECK: %[[P:.*]] = arith.truncf {{.*}} to tensor<64x32xbf16, #[[S]]>
// CHECK: sm.mma %[[P]], %[[K]] depth 32 : tensor<64x32xbf16, #[[S]]>, !sm.shared<32x64xbf16, 128> -> tensor<64x64xf32, #[[O]]>
// CHECK-NOT: sm.convert
func.func @chained(%q: !tile.view<2xbf16>, %k: !tile.view<2xbf16>, %m: !tile.view<1xf32>, %o: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %q[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
  %b = tile.load %k[%c0, %c0] : !tile.view<2xbf16> -> tensor<32x64xbf16>
  %s = tile.dot %a, %b {transpose_rhs} : tensor<64x64xbf16>, tensor<32x64xbf16> -> tensor<64x32xf32>
  %max = tile.reduce max %s axis 1 : tensor<64x32xf32> -> tensor<64xf32>
  tile.store %max, %m[%c0] : tensor<64xf32>, !tile.view<1xf32>
  %p = arith.truncf %s : tensor<64x32xf32> to tensor<64x32xbf16>
  %r = tile.dot %p, %b : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
  tile.atomic_add %r, %o[%c0, %c0] : tensor<64x64xf32>, !tile.view<2xf32>
  return
}

// -----

// A transposed operand cannot stay in registers, and shapes are padded to whole fragments.
// CHECK-LABEL: func.func @transposed
// CHECK: %[[A:.*]] = sm.load_shared {{.*}} [37, 24] : !tile.view<2xf16> -> !sm.shared<48x32xf16, 64>
// CHECK: %[[D:.*]] = arith.negf
// CHECK: %[[D_S:.*]] = sm.to_shared %[[D]] : tensor<37x24xf16, #{{.*}}> -> !sm.shared<48x32xf16, 64>
// CHECK: sm.mma %[[D_S]], %[[A]] depth 37 {transpose_lhs}
func.func @transposed(%v: !tile.view<2xf16>, %o: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %v[%c0, %c0] : !tile.view<2xf16> -> tensor<37x24xf16>
  %d = arith.negf %a : tensor<37x24xf16>
  %r = tile.dot %d, %a {transpose_lhs} : tensor<37x24xf16>, tensor<37x24xf16> -> tensor<24x24xf32>
  tile.store %r, %o[%c0, %c0] : tensor<24x24xf32>, !tile.view<2xf32>
  return
}

// -----

// Without dots, rows stay within a warp, a thread holds 16 bytes of a row, and an index tile is made again in each layout
// that needs it.
// CHECK: #[[TILE:.*]] = #sm.layout<registers = [1:4:1, 0:4:8], lanes = [1:16:4, 0:2:1], warps = [0:4:2]>
// CHECK-LABEL: func.func @rows
// CHECK: tile.reduce add {{.*}} axis 1 : tensor<32x64xf32, #[[TILE]]>
// CHECK-NOT: sm.convert
func.func @rows(%x: !tile.view<2xf32>, %y: !tile.view<1xf32>, %z: !tile.view<2xi32>) {
  %c0 = arith.constant 0 : index
  %n = tile.iota : tensor<64xi32>
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<32x64xf32>
  %sum = tile.reduce add %a axis 1 : tensor<32x64xf32> -> tensor<32xf32>
  tile.store %sum, %y[%c0] : tensor<32xf32>, !tile.view<1xf32>
  %row = tile.reshape %n : tensor<64xi32> -> tensor<1x64xi32>
  %column = tile.reshape %n : tensor<64xi32> -> tensor<64x1xi32>
  %r = tile.broadcast %row : tensor<1x64xi32> -> tensor<64x64xi32>
  %c = tile.broadcast %column : tensor<64x1xi32> -> tensor<64x64xi32>
  %d = arith.subi %r, %c : tensor<64x64xi32>
  tile.store %d, %z[%c0, %c0] : tensor<64x64xi32>, !tile.view<2xi32>
  return
}

// -----

// The result of a dot goes to shared memory if the next dot needs it there.
// CHECK-LABEL: func.func @product_of_product
// CHECK: %[[X:.*]] = sm.mma
// CHECK: %[[X_S:.*]] = sm.to_shared %[[X]] : tensor<32x32xf32, #{{.*}}> -> !sm.shared<{{.*}}xf32, 128>
// CHECK: sm.mma {{.*}}, %[[X_S]] depth 32 :
func.func @product_of_product(%v: !tile.view<2xf32>, %o: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %v[%c0, %c0] : !tile.view<2xf32> -> tensor<32x32xf32>
  %x = tile.dot %a, %a : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  %y = tile.dot %a, %x : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  tile.store %y, %o[%c0, %c0] : tensor<32x32xf32>, !tile.view<2xf32>
  return
}

// -----

// An index tile is stored like any other tile, although its element type has no width.
// CHECK-LABEL: func.func @indices
// CHECK: tile.iota : tensor<64xindex, #{{.*}}>
func.func @indices(%o: !tile.view<1xi32>) {
  %c0 = arith.constant 0 : index
  %n = tile.iota : tensor<64xindex>
  %i = arith.index_cast %n : tensor<64xindex> to tensor<64xi32>
  tile.store %i, %o[%c0] : tensor<64xi32>, !tile.view<1xi32>
  return
}

// -----

// In a program with roles, each warp stores its own rows of a wide result.
// CHECK-LABEL: func.func @wide
// CHECK: sm.copy_out {{.*}} [64, 256] rows_of_warp 16 :
// CHECK-LABEL: func.func @narrow
// CHECK: sm.copy_out {{.*}} [64, 128] :
module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  func.func @wide(%k: !tile.view<2xbf16>, %v: !tile.view<2xbf16>, %o: !tile.view<2xbf16>) {
    %c0 = arith.constant 0 : index
    %a = tile.load %k[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
    %b = tile.load %v[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x256xbf16>
    %r = tile.dot %a, %b : tensor<64x64xbf16>, tensor<64x256xbf16> -> tensor<64x256xf32>
    %n = arith.truncf %r : tensor<64x256xf32> to tensor<64x256xbf16>
    tile.store %n, %o[%c0, %c0] : tensor<64x256xbf16>, !tile.view<2xbf16>
    return
  }
  func.func @narrow(%k: !tile.view<2xbf16>, %v: !tile.view<2xbf16>, %o: !tile.view<2xbf16>) {
    %c0 = arith.constant 0 : index
    %a = tile.load %k[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
    %b = tile.load %v[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x128xbf16>
    %r = tile.dot %a, %b : tensor<64x64xbf16>, tensor<64x128xbf16> -> tensor<64x128xf32>
    %n = arith.truncf %r : tensor<64x128xf32> to tensor<64x128xbf16>
    tile.store %n, %o[%c0, %c0] : tensor<64x128xbf16>, !tile.view<2xbf16>
    return
  }
}

// -----

// Without roles, all threads store a wide result together.
// CHECK-LABEL: func.func @wide_without_roles
// CHECK: sm.copy_out {{.*}} [64, 256] :
func.func @wide_without_roles(%k: !tile.view<2xbf16>, %v: !tile.view<2xbf16>, %o: !tile.view<2xbf16>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %k[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
  %b = tile.load %v[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x256xbf16>
  %r = tile.dot %a, %b : tensor<64x64xbf16>, tensor<64x256xbf16> -> tensor<64x256xf32>
  %n = arith.truncf %r : tensor<64x256xf32> to tensor<64x256xbf16>
  tile.store %n, %o[%c0, %c0] : tensor<64x256xbf16>, !tile.view<2xbf16>
  return
}

// -----

// All threads store a wide result together, too, if a loop loads other tiles to registers.
// CHECK-LABEL: func.func @wide_beside_a_tile
// CHECK: sm.copy_out {{.*}} [64, 256] :
module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  func.func @wide_beside_a_tile(%k: !tile.view<2xbf16>, %v: !tile.view<2xbf16>, %o: !tile.view<2xbf16>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant dense<0.0> : tensor<64x256xf32>
    %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%sum = %zero) -> (tensor<64x256xf32>) {
      %a = tile.load %k[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
      %b = tile.load %v[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x256xbf16>
      %d = tile.dot %a, %b : tensor<64x64xbf16>, tensor<64x256xbf16> -> tensor<64x256xf32>
      %t = tile.load %v[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x256xbf16>
      %w = arith.extf %t : tensor<64x256xbf16> to tensor<64x256xf32>
      %x = arith.addf %d, %w : tensor<64x256xf32>
      %next = arith.addf %sum, %x : tensor<64x256xf32>
      scf.yield %next : tensor<64x256xf32>
    }
    %n = arith.truncf %r : tensor<64x256xf32> to tensor<64x256xbf16>
    tile.store %n, %o[%c0, %c0] : tensor<64x256xbf16>, !tile.view<2xbf16>
    return
  }
}

// -----

// The sm.mma covers 96 columns of the tile, the sm.wgmma 64. Both read it in whole panels of 128 bytes.
// CHECK-LABEL: func @rows_of_two_products
// CHECK: %[[A:.*]] = sm.load_shared {{.*}} -> !sm.shared<192x128xbf16, 128>
// CHECK: sm.wgmma %[[A]],
// CHECK: sm.mma {{.*}}, %[[A]] depth 192 {transpose_lhs}
module attributes {tile.roles = "load", tile.num_warps = 12 : i64} {
  func.func @rows_of_two_products(%a: !tile.view<2xbf16>, %b: !tile.view<2xbf16>, %y: !tile.view<2xf32> {tile.written}) {
    %c0 = arith.constant 0 : index
    %0 = tile.load %a[%c0, %c0] : !tile.view<2xbf16> -> tensor<192x64xbf16>
    %1 = tile.load %b[%c0, %c0] : !tile.view<2xbf16> -> tensor<56x64xbf16>
    %2 = tile.dot %0, %1 {transpose_rhs} : tensor<192x64xbf16>, tensor<56x64xbf16> -> tensor<192x56xf32>
    %3 = arith.truncf %2 : tensor<192x56xf32> to tensor<192x56xbf16>
    %4 = tile.dot %3, %0 {transpose_lhs} : tensor<192x56xbf16>, tensor<192x64xbf16> -> tensor<56x64xf32>
    tile.store %4, %y[%c0, %c0] : tensor<56x64xf32>, !tile.view<2xf32>
    return
  }
}

// -----

// A tile that a loop carries meets its own transpose. The loop's argument and result keep one layout, whatever comes
// first.
// CHECK-LABEL: func @sum_with_its_transpose
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (tensor<32x32xf32, #[[SUMS:.*]]>)
// CHECK: arith.select %{{.*}}, %[[SUM]], %{{.*}} : tensor<32x32xi1, #[[SUMS]]>, tensor<32x32xf32, #[[SUMS]]>
// CHECK: %[[OTHER:.*]] = tile.transpose
// CHECK: arith.addf
// CHECK: scf.yield %{{.*}} : tensor<32x32xf32, #[[SUMS]]>
func.func @sum_with_its_transpose(%n: index, %x: !tile.view<2xf32> {tile.written}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %first = arith.constant dense<1.0> : tensor<32x32xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %first) -> (tensor<32x32xf32>) {
    %seen = arith.cmpf olt, %a, %zero : tensor<32x32xf32>
    %s = arith.select %seen, %a, %zero : tensor<32x32xi1>, tensor<32x32xf32>
    %t = tile.transpose %s [1, 0] : tensor<32x32xf32> -> tensor<32x32xf32>
    %y = arith.addf %a, %t : tensor<32x32xf32>
    scf.yield %y : tensor<32x32xf32>
  }
  tile.store %r, %x[%c0, %c0] : tensor<32x32xf32>, !tile.view<2xf32>
  return
}

// -----

// An exact product and one by warpgroups meet. The plan of the warpgroups decides the layout of both, although the exact
// product comes first.
// CHECK: #[[LAYOUT:.*]] = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16, 1:2:64]>
// CHECK-LABEL: func @exact_product_beside_warpgroups
// CHECK: sm.mma {{.*}} -> tensor<64x128xf32, #[[LAYOUT]]>
// CHECK: sm.wgmma {{.*}} -> !sm.inflight<tensor<64x128xf32, #[[LAYOUT]]>>
module attributes {tile.roles = "load", tile.num_warps = 8 : i64} {
  func.func @exact_product_beside_warpgroups(%a: !tile.view<2xf32>, %b: !tile.view<2xbf16>, %y: !tile.view<1xf32> {tile.written}) {
    %c0 = arith.constant 0 : index
    %0 = tile.load %a[%c0, %c0] : !tile.view<2xf32> -> tensor<64x64xf32>
    %1 = tile.load %a[%c0, %c0] : !tile.view<2xf32> -> tensor<64x128xf32>
    %exact = tile.dot %0, %1 : tensor<64x64xf32>, tensor<64x128xf32> -> tensor<64x128xf32>
    %2 = tile.load %b[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
    %3 = tile.load %b[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x128xbf16>
    %fast = tile.dot %2, %3 {tile.flipped = false, tile.warpgroups = array<i64: 1, 2>}
      : tensor<64x64xbf16>, tensor<64x128xbf16> -> tensor<64x128xf32>
    %both = arith.mulf %exact, %fast : tensor<64x128xf32>
    %sum = tile.reduce add %both axis 0 : tensor<64x128xf32> -> tensor<128xf32>
    tile.store %sum, %y[%c0] : tensor<128xf32>, !tile.view<1xf32>
    return
  }
}

// -----

// MMAs have the labels of their dots, also of those that are computed as their transpose, or by single warps. What the
// plan says is obeyed, and stays with no MMA.
// CHECK-LABEL: func @labels
// CHECK: sm.wgmma {{.*}} {tile.label = "flipped", transpose_rhs} :
// CHECK: sm.wgmma {{.*}} {tile.label = "rows", transpose_rhs} :
// CHECK: sm.mma {{.*}} {tile.label = "local", transpose_rhs} :
// CHECK: sm.mma {{.*}} {tile.label = "small"} :
module attributes {tile.roles = "load", tile.num_warps = 8 : i64} {
  func.func @labels(%a: !tile.view<2xbf16>, %y: !tile.view<2xf32>) {
    %c0 = arith.constant 0 : index
    %q = tile.load %a[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x128xbf16>
    %k = tile.load %a[%c0, %c0] : !tile.view<2xbf16> -> tensor<128x128xbf16>
    %0 = tile.dot %q, %k {tile.flipped = true, tile.label = "flipped", tile.warpgroups = array<i64: 2, 1>, transpose_rhs}
      : tensor<64x128xbf16>, tensor<128x128xbf16> -> tensor<64x128xf32>
    %1 = tile.dot %k, %k {tile.flipped = false, tile.label = "rows", tile.warpgroups = array<i64: 2, 1>, transpose_rhs}
      : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    %2 = tile.dot %k, %k {tile.label = "local", tile.warp_local, transpose_rhs}
      : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    %s = tile.load %a[%c0, %c0] : !tile.view<2xbf16> -> tensor<16x16xbf16>
    %3 = tile.dot %s, %s {tile.label = "small"} : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xf32>
    tile.atomic_add %0, %y[%c0, %c0] : tensor<64x128xf32>, !tile.view<2xf32>
    tile.atomic_add %1, %y[%c0, %c0] : tensor<128x128xf32>, !tile.view<2xf32>
    tile.atomic_add %2, %y[%c0, %c0] : tensor<128x128xf32>, !tile.view<2xf32>
    tile.atomic_add %3, %y[%c0, %c0] : tensor<16x16xf32>, !tile.view<2xf32>
    return
  }
}

// -----

// Accumulators hold pairs of neighbours, and blocks of 8 columns. So every second column, and the columns from 32 on,
// are registers of the same threads. A tile that is loaded gets a layout in which both halves of a row are in a thread.
// CHECK-DAG: #[[ODD:.*]] = #sm.layout<registers = [0:2:8, 1:8:4], lanes = [1:4:1, 0:8:1], warps = [0:4:16]>
// CHECK-DAG: #[[RIGHT:.*]] = #sm.layout<registers = [1:2:1, 0:2:8, 1:4:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
// CHECK-DAG: #[[HALF:.*]] = #sm.layout<registers = [1:8:1], lanes = [1:4:8, 0:8:1], warps = [0:4:8]>
// CHECK-DAG: #[[HALVES:.*]] = #sm.layout<registers = [1:8:1, 1:2:32], lanes = [1:4:8, 0:8:1], warps = [0:4:8]>
// CHECK-LABEL: func.func @columns_in_registers
// CHECK: tile.columns {{.*}} from 1 step 2 : {{.*}} -> tensor<64x32xf32, #[[ODD]]>
// CHECK: tile.columns {{.*}} from 32 step 1 : {{.*}} -> tensor<64x32xf32, #[[RIGHT]]>
// CHECK: sm.read {{.*}} -> tensor<32x64xbf16, #[[HALVES]]>
// CHECK: tile.columns {{.*}} from 32 step 1 : {{.*}} -> tensor<32x32xbf16, #[[HALF]]>
// CHECK: tile.columns {{.*}} from 0 step 1 : {{.*}} -> tensor<32x32xbf16, #[[HALF]]>
// CHECK: tile.join {{.*}} -> tensor<32x64xbf16, #[[HALVES]]>
// CHECK-NOT: sm.convert
// CHECK-NOT: sm.select_columns
func.func @columns_in_registers(%x: !tile.view<2xbf16>, %y: !tile.view<2xf32>, %m: !tile.view<1xf32>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
  %s = tile.dot %a, %a : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  %max = tile.reduce max %s axis 1 : tensor<64x64xf32> -> tensor<64xf32>
  tile.store %max, %m[%c0] : tensor<64xf32>, !tile.view<1xf32>
  %odd = tile.columns %s from 1 step 2 : tensor<64x64xf32> -> tensor<64x32xf32>
  %right = tile.columns %s from 32 step 1 : tensor<64x64xf32> -> tensor<64x32xf32>
  tile.atomic_add %odd, %y[%c0, %c0] : tensor<64x32xf32>, !tile.view<2xf32>
  tile.atomic_add %right, %y[%c0, %c32] : tensor<64x32xf32>, !tile.view<2xf32>
  %b = tile.load %x[%c32, %c0] : !tile.view<2xbf16> -> tensor<32x64xbf16>
  %high = tile.columns %b from 32 step 1 : tensor<32x64xbf16> -> tensor<32x32xbf16>
  %low = tile.columns %b from 0 step 1 : tensor<32x64xbf16> -> tensor<32x32xbf16>
  %turned = tile.join %high, %low : tensor<32x32xbf16>, tensor<32x32xbf16> -> tensor<32x64xbf16>
  tile.store %turned, %x[%c32, %c0] : tensor<32x64xbf16>, !tile.view<2xbf16>
  return
}

// -----

// Columns that begin in the middle of a thread's registers move through shared memory. A join selects between two
// tiles, whose columns are those of the parts.
// CHECK-LABEL: func.func @columns_through_shared_memory
// CHECK: %[[B:.*]] = sm.select_columns %{{.*}} from 5 step 1 : tensor<64x16xf32, {{.*}} -> tensor<64x3xf32,
// CHECK-NOT: sm.convert
// CHECK: %[[COLUMN:.*]] = sm.linear
// CHECK: %[[IS_LEFT:.*]] = arith.cmpi slt, %[[COLUMN]]
// CHECK-DAG: %[[LEFT:.*]] = sm.select_columns %[[B]] from 0 step 1 : {{.*}} -> tensor<64x19xf32,
// CHECK-DAG: %[[RIGHT:.*]] = sm.select_columns %{{.*}} from -3 step 1 : {{.*}} -> tensor<64x19xf32,
// CHECK: arith.select %[[IS_LEFT]], %[[LEFT]], %[[RIGHT]]
func.func @columns_through_shared_memory(%x: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<64x16xf32>
  %b = tile.columns %a from 5 step 1 : tensor<64x16xf32> -> tensor<64x3xf32>
  %c = tile.join %b, %a : tensor<64x3xf32>, tensor<64x16xf32> -> tensor<64x19xf32>
  tile.store %c, %x[%c0, %c0] : tensor<64x19xf32>, !tile.view<2xf32>
  return
}

// -----

// Tensor cores read f32 operands K-major. Memory has the left one by columns, and the first right one by rows.
// CHECK-LABEL: func.func @k_major
// CHECK: %[[A:.*]] = sm.load_shared %arg0{{.*}} -> !sm.shared<32x64xf32, 128>
// CHECK: %[[AT:.*]] = sm.transpose %[[A]] : !sm.shared<32x64xf32, 128> -> !sm.shared<64x32xf32, 128>
// CHECK: %[[B:.*]] = sm.load_shared %arg1{{.*}} -> !sm.shared<32x96xf32, 128>
// CHECK: %[[BT:.*]] = sm.transpose %[[B]] : !sm.shared<32x96xf32, 128> -> !sm.shared<96x32xf32, 128>
// CHECK: %[[D:.*]] = sm.load_shared %arg2{{.*}} -> !sm.shared<96x32xf32, 128>
// CHECK-NOT: sm.transpose
// CHECK: sm.wgmma %[[AT]], %[[BT]] depth 32 {transpose_rhs}
// CHECK: sm.wgmma %[[AT]], %[[D]] depth 32 acc {{.*}} {transpose_rhs}
module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  func.func @k_major(%a: !tile.view<2xf32>, %b: !tile.view<2xf32>, %d: !tile.view<2xf32>, %o: !tile.view<2xf32>) {
    %c0 = arith.constant 0 : index
    %at = tile.load %a[%c0, %c0] : !tile.view<2xf32> -> tensor<32x64xf32>
    %bt = tile.load %b[%c0, %c0] : !tile.view<2xf32> -> tensor<32x96xf32>
    %dt = tile.load %d[%c0, %c0] : !tile.view<2xf32> -> tensor<96x32xf32>
    %r = tile.dot %at, %bt {allow_tf32, transpose_lhs} : tensor<32x64xf32>, tensor<32x96xf32> -> tensor<64x96xf32>
    %s = tile.dot %at, %dt acc %r {allow_tf32, transpose_lhs, transpose_rhs}
      : tensor<32x64xf32>, tensor<96x32xf32>, tensor<64x96xf32> -> tensor<64x96xf32>
    tile.atomic_add %s, %o[%c0, %c0] : tensor<64x96xf32>, !tile.view<2xf32>
    return
  }
}

// -----

// Products read the first columns of a tile where the tile lies, if they are whole panels of 128 bytes. Otherwise the
// columns get memory of their own.
// CHECK-LABEL: func @first_columns
// CHECK: %[[K:.*]] = sm.load_shared %arg1[{{.*}} -> !sm.shared<64x192xbf16, 128>
// CHECK: sm.wgmma %{{.*}}, %[[K]] depth 192 {transpose_rhs}
// CHECK: sm.wgmma %[[K]], %{{.*}} depth 64 {transpose_lhs, transpose_rhs} : {{.*}} -> !sm.inflight<tensor<128x64xf32,
// CHECK: %[[PART:.*]] = sm.select_columns {{.*}} -> tensor<64x96xbf16,
// CHECK: %[[OWN:.*]] = sm.to_shared %[[PART]]
// CHECK: sm.wgmma %{{.*}}, %[[OWN]] depth 64 {{.*}} -> !sm.inflight<tensor<64x96xf32,
module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  func.func @first_columns(%q: !tile.view<2xbf16>, %k: !tile.view<2xbf16>, %o: !tile.view<1xf32> {tile.written}, %p: !tile.view<1xf32> {tile.written}) {
    %c0 = arith.constant 0 : index
    %0 = tile.load %q[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x192xbf16>
    %1 = tile.load %k[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x192xbf16>
    %2 = tile.dot %0, %1 {transpose_rhs} : tensor<64x192xbf16>, tensor<64x192xbf16> -> tensor<64x64xf32>
    %3 = arith.truncf %2 : tensor<64x64xf32> to tensor<64x64xbf16>
    %4 = tile.columns %1 from 0 step 1 : tensor<64x192xbf16> -> tensor<64x128xbf16>
    %5 = tile.dot %3, %4 : tensor<64x64xbf16>, tensor<64x128xbf16> -> tensor<64x128xf32>
    %6 = tile.columns %1 from 0 step 1 : tensor<64x192xbf16> -> tensor<64x96xbf16>
    %7 = tile.dot %3, %6 : tensor<64x64xbf16>, tensor<64x96xbf16> -> tensor<64x96xf32>
    %8 = tile.reduce add %5 axis 0 : tensor<64x128xf32> -> tensor<128xf32>
    %9 = tile.reduce add %7 axis 0 : tensor<64x96xf32> -> tensor<96xf32>
    tile.store %8, %o[%c0] : tensor<128xf32>, !tile.view<1xf32>
    tile.store %9, %p[%c0] : tensor<96xf32>, !tile.view<1xf32>
    return
  }
}

// -----

// Lanes store a large tile of a loop from registers, because it would take the memory of the loop's other tiles. Outside
// of loops, it is staged.
// CHECK-LABEL: func @large_results
// CHECK: scf.for
// CHECK-NOT: sm.to_shared
// CHECK: tile.store
// CHECK: }
// CHECK: sm.to_shared
// CHECK: sm.copy_out
module attributes {tile.num_warps = 8 : i64} {
  func.func @large_results(%n: index, %a: !tile.view<2xbf16>, %b: !tile.view<2xbf16>, %o: !tile.view<3xf32> {tile.written}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = tile.load %a[%c0, %c0] : !tile.view<2xbf16> -> tensor<128x64xbf16>
    %1 = tile.load %b[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x256xbf16>
    scf.for %i = %c1 to %n step %c1 {
      %2 = tile.dot %0, %1 : tensor<128x64xbf16>, tensor<64x256xbf16> -> tensor<128x256xf32>
      %3 = tile.slice %o[%i] : !tile.view<3xf32> -> !tile.view<2xf32>
      tile.store %2, %3[%c0, %c0] : tensor<128x256xf32>, !tile.view<2xf32>
    }
    %4 = tile.dot %0, %1 : tensor<128x64xbf16>, tensor<64x256xbf16> -> tensor<128x256xf32>
    %5 = tile.slice %o[%c0] : !tile.view<3xf32> -> !tile.view<2xf32>
    tile.store %4, %5[%c0, %c0] : tensor<128x256xf32>, !tile.view<2xf32>
    return
  }
}

// -----

// Accumulators in tensor memory begin before the loop and are read after it, 0 if no iteration has written them. Each
// lane holds a row. The loop still carries its first values, which nothing reads.
// CHECK: #[[ROWS:.*]] = #sm.layout<registers = [1:128:1], lanes = [0:32:1], warps = [0:4:32]>
// CHECK-LABEL: func.func @in_tensor_memory(
// CHECK: %[[SUMS:.*]] = sm.tensor_alloc : !sm.tensor_memory<1, 128, 128>
// CHECK: %[[ANY:.*]] = arith.cmpi slt, %c0, %[[N:.*]] : index
// CHECK: scf.for %[[K:.*]] = %c0 to %[[N]] step %c64
// CHECK-DAG: %[[A:.*]] = sm.load_shared {{.*}} -> !sm.shared<128x64xbf16, 128>
// CHECK-DAG: %[[B:.*]] = sm.load_shared {{.*}} -> !sm.shared<64x128xbf16, 128>
// CHECK: %[[MORE:.*]] = arith.cmpi ne, %[[K]], %c0
// CHECK: sm.tcgen05 %[[A]], %[[B]] depth 64 into %[[SUMS]][%{{.*}}] accumulates %[[MORE]] {tile.label = "s"} :
// CHECK: %[[R:.*]] = sm.tensor_read %[[SUMS]][%{{.*}}] written %[[ANY]] {{.*}} -> tensor<128x128xf32, #[[ROWS]]>
// CHECK: sm.to_shared %[[R]]
module attributes {tile.roles = "load", tile.has_tensor_memory = true, tile.num_warps = 4 : i64} {
  func.func @in_tensor_memory(%a: !tile.view<2xbf16>, %c: !tile.view<2xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<128x128xf32>
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%sum = %zero) -> tensor<128x128xf32> {
      %x = tile.load %a[%c0, %k] : !tile.view<2xbf16> -> tensor<128x64xbf16>
      %y = tile.load %a[%k, %c0] : !tile.view<2xbf16> -> tensor<64x128xbf16>
      %s = tile.dot %x, %y acc %sum {tile.label = "s"}
        : tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32> -> tensor<128x128xf32>
      scf.yield %s : tensor<128x128xf32>
    }
    tile.store %r, %c[%c0, %c0] : tensor<128x128xf32>, !tile.view<2xf32>
    return
  }
}
