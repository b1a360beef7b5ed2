// RUN: tegula-opt --plan-roles --split-roles --split-input-file --verify-diagnostics %s | FileCheck %s

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

// The producer repeats the scalars and the loop, without the values that the loop carries. Consumers wait before the
// first use of a tile and release it after the wait for the last MMA.
// CHECK-LABEL: func @two_loads
// CHECK-SAME: (%[[Q:.*]]: !tile.view<2xbf16>, %[[K:.*]]: !tile.view<2xbf16>, %[[N:.*]]: index)
// CHECK: %[[QS:.*]] = sm.alloc : !sm.shared<1x128x64xbf16, 128>
// CHECK: %[[QB:.*]] = sm.channel %{{.*}} from load to [compute] : !sm.channel<1,
// CHECK: %[[KS:.*]] = sm.alloc : !sm.shared<3x64x64xbf16, 128>
// CHECK: %[[KB:.*]] = sm.channel {{.*}}from load to [compute] : !sm.channel<3
// CHECK: compute warps 8 registers 232 {
// CHECK: %[[QR:.*]] = sm.consumer_wait %[[QB]]
// CHECK: scf.for {{.*}} iter_args(%{{.*}}, %[[SLOT:.*]] = %c0{{.*}}, %[[PHASE:.*]] = %c0
// CHECK: %[[KR:.*]] = sm.consumer_wait %[[KB]][%[[SLOT]]] phase %[[PHASE]]
// CHECK: %[[S:.*]] = sm.wgmma %[[QR]], %[[KR]]
// CHECK: sm.await %[[S]]
// CHECK-NEXT: sm.release %[[KB]][%[[SLOT]]]
// CHECK: load warps 1 registers 40 {
// CHECK: %[[ROW:.*]] = arith.muli
// CHECK: sm.producer_load %[[Q]][%[[ROW]], %{{.*}}] [128, 64], %[[QB]]
// CHECK: scf.for %[[J:.*]] = %{{.*}} to %[[N]] {{.*}} iter_args(%[[SLOT:.*]] = %c0{{.*}}, %[[PHASE:.*]] = %c0{{.*}}) -> (i32, i32)
// CHECK-NEXT: sm.producer_load %[[K]][%[[J]], %{{.*}}] [64, 64], %[[KB]][%[[SLOT]]] phase %[[PHASE]]
// CHECK: %[[CLOSES:.*]] = arith.cmpi eq, %[[SLOT]], %c2_i32
// CHECK: %[[NEXT:.*]] = arith.addi %[[SLOT]]
// CHECK: %[[OTHER:.*]] = arith.xori %[[PHASE]]
// CHECK: arith.select %[[CLOSES]], %{{.*}}, %[[NEXT]]
// CHECK: arith.select %[[CLOSES]], %[[OTHER]], %[[PHASE]]
module attributes {tile.roles = "load", tile.num_warps = 8 : i64, tile.num_stages = 3 : i64} {
  func.func @two_loads(%q: !tile.view<2xbf16>, %k: !tile.view<2xbf16>, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %block = tile.program_id 0
    %row = arith.muli %block, %c128 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32, #c>
    %qs = sm.load_shared %q[%row, %c0] [128, 64] : !tile.view<2xbf16> -> !sm.shared<128x64xbf16, 128>
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

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// The plan decides: the number of slots, the registers, and which load is left to all warps. Its attributes end here.
// CHECK-LABEL: func @presets(
// CHECK-NOT: attributes
// CHECK: sm.channel %{{.*}} from load to [compute] : !sm.channel<5, !sm.shared<64x64xbf16, 128>>
// CHECK-NOT: sm.channel
// CHECK: compute warps 4 registers 216 {
// CHECK: sm.load_shared %arg1
// CHECK-NOT: tile.slots
// CHECK: load warps 1 registers 56 {
// CHECK: %c4_i32
module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  func.func @presets(%q: !tile.view<2xbf16>, %k: !tile.view<2xbf16>, %n: index) attributes {
      sm.roles = [#sm.role<"compute" warps 4 registers 216>, #sm.role<"load" warps 1 registers 56>]} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
    %r = scf.for %j = %c0 to %n step %c64 iter_args(%sum = %zero) -> tensor<64x64xf32, #c> {
      %qs = sm.load_shared %q[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %ks = sm.load_shared %k[%j, %c0] [64, 64] {tile.role = "compute"}
        : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %f = sm.wgmma %qs, %ks depth 64 acc %sum {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
      scf.yield %s : tensor<64x64xf32, #c>
    } {tile.slots = 5 : i64}
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:16:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

// The accumulators of a loop take more than 192 registers of a thread. The producer does with 24.
// CHECK-LABEL: func @many_accumulators
// CHECK: compute warps 8 registers 240 {
// CHECK: load warps 1 registers 24 {
module attributes {tile.roles = "load", tile.num_warps = 8 : i64} {
  func.func @many_accumulators(%q: !sm.shared<128x64xbf16, 128>, %k: !tile.view<2xbf16>, %n: index) {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    scf.for %j = %c0 to %n step %c128 {
      %ks = sm.load_shared %k[%j, %c0] [128, 64] : !tile.view<2xbf16> -> !sm.shared<128x64xbf16, 128>
      %f = sm.wgmma %q, %ks depth 64 {transpose_rhs} : !sm.shared<128x64xbf16, 128>, !sm.shared<128x64xbf16, 128>
        -> !sm.inflight<tensor<128x128xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<128x128xf32, #c>>
      %g = sm.wgmma %ks, %q depth 64 {transpose_rhs} : !sm.shared<128x64xbf16, 128>, !sm.shared<128x64xbf16, 128>
        -> !sm.inflight<tensor<128x128xf32, #c>>
      %t = sm.await %g : !sm.inflight<tensor<128x128xf32, #c>>
      %h = sm.wgmma %ks, %ks depth 64 {transpose_rhs} : !sm.shared<128x64xbf16, 128>, !sm.shared<128x64xbf16, 128>
        -> !sm.inflight<tensor<128x128xf32, #c>>
      %u = sm.await %h : !sm.inflight<tensor<128x128xf32, #c>>
      %i = sm.wgmma %q, %ks depth 64 {transpose_rhs} : !sm.shared<128x64xbf16, 128>, !sm.shared<128x64xbf16, 128>
        -> !sm.inflight<tensor<128x128xf32, #c>>
      %v = sm.await %i : !sm.inflight<tensor<128x128xf32, #c>>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

// The producer loads the bound of the loop itself.
// CHECK-LABEL: func @a_bound_from_memory
// CHECK: compute warps 8
// CHECK: tile.gather
// CHECK: load warps 1 registers 40 {
// CHECK: %[[END:.*]] = tile.gather %arg1[%{{.*}}] : !tile.view<1xi32>, index -> i32
// CHECK: %[[N:.*]] = arith.index_cast %[[END]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[N]]
// CHECK: sm.producer_load
module attributes {tile.roles = "load", tile.num_warps = 8 : i64} {
  func.func @a_bound_from_memory(%k: !tile.view<2xbf16>, %ends: !tile.view<1xi32>, %q: !sm.shared<128x64xbf16, 128>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %block = tile.program_id 0
    %end = tile.gather %ends[%block] : !tile.view<1xi32>, index -> i32
    %n = arith.index_cast %end : i32 to index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32, #c>
    %r = scf.for %j = %c0 to %n step %c64 iter_args(%sum = %zero) -> tensor<128x64xf32, #c> {
      %ks = sm.load_shared %k[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %f = sm.wgmma %q, %ks depth 64 acc %sum {transpose_rhs}
        : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<128x64xf32, #c>
        -> !sm.inflight<tensor<128x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<128x64xf32, #c>>
      scf.yield %s : tensor<128x64xf32, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:10:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// The producer loads a tile that goes to registers by TMA or not at all. If it does not, each warp copies its own rows.
// The slot passes to the consumers and back in either case. Elements of four bytes lie in panels of 32 columns.
// CHECK-LABEL: func @a_tile_for_registers
// CHECK: %[[RING:.*]] = sm.alloc : !sm.shared<2x64x128xbf16, 128>
// CHECK: sm.alloc : !sm.shared<2x64x96xf32, 128>
// CHECK: compute warps 4
// CHECK: sm.await
// CHECK: %[[TILE:.*]] = sm.consumer_wait %{{.*}} : !sm.channel<{{.}}, !sm.shared<64x128xbf16, 128>>
// CHECK-NEXT: %[[LOADED:.*]] = sm.is_loaded %[[TILE]], %arg1[%[[ROW:.*]], %[[J:.*]]] :
// CHECK-NEXT: scf.if %[[LOADED]] {
// CHECK-NEXT: } else {
// CHECK-NEXT: sm.fallback_copy %[[TILE]], %arg1[%[[ROW]], %[[J]]] [64, 80] rows_of_warp 16
// CHECK-NEXT: }
// CHECK-NEXT: sm.read %[[TILE]]
// CHECK-NEXT: sm.proxy_fence
// CHECK-NEXT: sm.release %{{.*}} per_warp
// CHECK: sm.fallback_copy %{{.*}}, %arg3[%{{.*}}, %{{.*}}] [64, 80] rows_of_warp 16
// CHECK: sm.release %{{.*}} per_warp
// CHECK: load warps 1 registers 40 {
// CHECK: sm.producer_load %arg0[
// CHECK: sm.producer_load %arg1[%{{.*}}, %{{.*}}] [64, 80], %{{.*}} phase %{{.*}} tma_only
// CHECK: sm.producer_load %arg3[%{{.*}}, %{{.*}}] [64, 80], %{{.*}} phase %{{.*}} tma_only
module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  func.func @a_tile_for_registers(%k: !tile.view<2xbf16>, %bias: !tile.view<2xbf16>, %n: index, %small: !tile.view<2xf32>,
                                  %q: !sm.shared<64x64xbf16, 128>) {
    %c0 = arith.constant 0 : index
    %c80 = arith.constant 80 : index
    %c64 = arith.constant 64 : index
    %block = tile.program_id 0
    %row = arith.muli %block, %c64 : index
    %zero = arith.constant dense<0.0> : tensor<64x80xf32, #c>
    %r = scf.for %j = %c0 to %n step %c80 iter_args(%sum = %zero) -> tensor<64x80xf32, #c> {
      %ks = sm.load_shared %k[%j, %c0] [80, 64] : !tile.view<2xbf16> -> !sm.shared<80x64xbf16, 128>
      %f = sm.wgmma %q, %ks depth 64 acc %sum {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<80x64xbf16, 128>, tensor<64x80xf32, #c>
        -> !sm.inflight<tensor<64x80xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x80xf32, #c>>
      %b = tile.load %bias[%row, %j] : !tile.view<2xbf16> -> tensor<64x80xbf16, #c>
      %w = arith.extf %b : tensor<64x80xbf16, #c> to tensor<64x80xf32, #c>
      %x = tile.load %small[%row, %j] : !tile.view<2xf32> -> tensor<64x80xf32, #c>
      %y = arith.addf %s, %w : tensor<64x80xf32, #c>
      %z = arith.addf %y, %x : tensor<64x80xf32, #c>
      scf.yield %z : tensor<64x80xf32, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#v = #sm.layout<registers = [0:2:1, 0:8:8], lanes = [0:4:2, *:8], warps = [*:4]>

// The producer loads a vector of at least 128 bytes whose position is a multiple of 16 bytes. Its slot is released with
// that of an MMA's operand, so it needs no mbarriers of its own for this. Other vectors stay loads of the consumers.
// CHECK-LABEL: func @vectors
// CHECK: %[[RING:.*]] = sm.alloc : !sm.shared<2x64xf32, 0>
// CHECK: %[[BARS:.*]] = sm.channel {{.*}}from load to [compute] : !sm.channel<2
// CHECK: sm.alloc : !sm.shared<2x64x64xbf16, 128>
// CHECK: %[[KB:.*]] = sm.channel {{.*}}from load to [compute] : !sm.channel<2
// CHECK: compute warps 4
// CHECK: %[[TILE:.*]] = sm.consumer_wait %[[BARS]]{{.*}} : !sm.channel<{{.}}, !sm.shared<64xf32, 0>>
// CHECK-NEXT: %[[LOADED:.*]] = sm.is_loaded %[[TILE]], %[[VIEW:.*]][%[[AT:.*]]] inside :
// CHECK-NEXT: scf.if %[[LOADED]] -> (tensor<64xf32, #{{.*}}>) {
// CHECK-NEXT: %[[READ:.*]] = sm.read %[[TILE]]
// CHECK-NEXT: scf.yield %[[READ]]
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[LOAD:.*]] = tile.load %[[VIEW]][%[[AT]]] {fill = 0x7F800000 : f32, tile.rare}
// CHECK-NEXT: scf.yield %[[LOAD]]
// CHECK-COUNT-3: tile.load
// CHECK-NOT: sm.release %[[BARS]]
// CHECK: sm.proxy_fence
// CHECK-NEXT: sm.release %[[KB]]{{.*}} per_warp
// CHECK-NOT: sm.release
// CHECK: load warps 1 registers 40 {
// CHECK: sm.producer_load %arg0[
// CHECK: %[[ROW:.*]] = tile.slice %arg1
// CHECK: sm.producer_load %[[ROW]][%{{.*}}] [64], %[[BARS]]{{.*}} tma_only
// CHECK-NOT: sm.producer_load
module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  func.func @vectors(%k: !tile.view<2xbf16>, %lse: !tile.view<2xf32>, %n: index, %q: !sm.shared<64x64xbf16, 128>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %head = tile.program_id 0
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
    %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%sum = %zero, %at = %c0) -> (tensor<64x64xf32, #c>, index) {
      %row = tile.slice %lse[%head] : !tile.view<2xf32> -> !tile.view<1xf32>
      %v = tile.load %row[%j] {fill = 0x7F800000 : f32} : !tile.view<1xf32> -> tensor<64xf32, #v>
      %odd = arith.addi %j, %c1 : index
      %unaligned = tile.load %row[%odd] : !tile.view<1xf32> -> tensor<64xf32, #v>
      %carried = tile.load %row[%at] : !tile.view<1xf32> -> tensor<64xf32, #v>
      %short = tile.load %row[%j] : !tile.view<1xf32> -> tensor<16xf32, #v>
      %ks = sm.load_shared %k[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %f = sm.wgmma %q, %ks depth 64 acc %sum {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
      %next = arith.addi %at, %c64 : index
      scf.yield %s, %next : tensor<64x64xf32, #c>, index
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#v = #sm.layout<registers = [0:2:1, 0:8:8], lanes = [0:4:2, *:8], warps = [*:4]>

// A vector whose load is separated from that of the matrix by the loads of an inner loop is released by itself: the
// producer loads it before it waits for the matrix's slot.
// CHECK-LABEL: func @vector_before_an_inner_loop
// CHECK: %[[VECTORS:.*]] = sm.channel {{.*}}from load to [compute] : !sm.channel<2, !sm.shared<64xf32, 0>>
// CHECK: compute warps 4
// CHECK: sm.release %[[VECTORS]]
module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  func.func @vector_before_an_inner_loop(%k: !tile.view<2xbf16>, %lse: !tile.view<1xf32>, %n: index,
                                         %q: !sm.shared<64x64xbf16, 128>, %y: !tile.view<1xf32> {tile.written}) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
    %r = scf.for %i = %c0 to %n step %c64 iter_args(%sum = %zero) -> (tensor<64x64xf32, #c>) {
      %v = tile.load %lse[%i] : !tile.view<1xf32> -> tensor<64xf32, #v>
      %inner = scf.for %j = %c0 to %n step %c64 iter_args(%part = %sum) -> (tensor<64x64xf32, #c>) {
        %vs = sm.load_shared %k[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
        %g = sm.wgmma %q, %vs depth 64 acc %part {transpose_rhs}
          : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
          -> !sm.inflight<tensor<64x64xf32, #c>>
        %o = sm.await %g : !sm.inflight<tensor<64x64xf32, #c>>
        scf.yield %o : tensor<64x64xf32, #c>
      }
      tile.store %v, %y[%i] : tensor<64xf32, #v>, !tile.view<1xf32>
      %ks = sm.load_shared %k[%i, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %f = sm.wgmma %q, %ks depth 64 acc %inner {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
      scf.yield %s : tensor<64x64xf32, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:10:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// In a later branch, the same tile is read from the same slot, which is released after the branch. Another tile is
// loaded.
// CHECK-LABEL: func @a_tile_read_again
// CHECK: compute warps 4
// CHECK: %[[TILE:.*]] = sm.consumer_wait %{{.*}} : !sm.channel<{{.}}, !sm.shared<64x128xbf16, 128>>
// CHECK: sm.fallback_copy %[[TILE]]
// CHECK-NEXT: }
// CHECK-NEXT: sm.read %[[TILE]]
// CHECK: scf.if
// CHECK: sm.read %[[TILE]]
// CHECK: tile.load %arg1
// CHECK-NOT: tile.load
// CHECK: sm.proxy_fence
// CHECK-NEXT: sm.release %{{.*}} per_warp
module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  func.func @a_tile_read_again(%k: !tile.view<2xbf16>, %bias: !tile.view<2xbf16>, %n: index, %again: i1,
                               %q: !sm.shared<64x64xbf16, 128>) {
    %c0 = arith.constant 0 : index
    %c80 = arith.constant 80 : index
    %zero = arith.constant dense<0.0> : tensor<64x80xbf16, #c>
    %none = arith.constant dense<0.0> : tensor<64x80xf32, #c>
    %r = scf.for %j = %c0 to %n step %c80 iter_args(%sum = %none) -> tensor<64x80xf32, #c> {
      %ks = sm.load_shared %k[%j, %c0] [80, 64] : !tile.view<2xbf16> -> !sm.shared<80x64xbf16, 128>
      %f = sm.wgmma %q, %ks depth 64 acc %sum {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<80x64xbf16, 128>, tensor<64x80xf32, #c>
        -> !sm.inflight<tensor<64x80xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x80xf32, #c>>
      %b = tile.load %bias[%c0, %j] : !tile.view<2xbf16> -> tensor<64x80xbf16, #c>
      %x = scf.if %again -> tensor<64x80xbf16, #c> {
        %number = arith.index_cast %j : index to i32
        %opaque = sm.opaque %number : i32
        %at = arith.index_cast %opaque : i32 to index
        %same = tile.load %bias[%c0, %at] : !tile.view<2xbf16> -> tensor<64x80xbf16, #c>
        %other = tile.load %bias[%at, %at] : !tile.view<2xbf16> -> tensor<64x80xbf16, #c>
        %both = arith.addf %same, %other : tensor<64x80xbf16, #c>
        scf.yield %both : tensor<64x80xbf16, #c>
      } else {
        scf.yield %zero : tensor<64x80xbf16, #c>
      }
      %y = arith.addf %b, %x : tensor<64x80xbf16, #c>
      %w = arith.extf %y : tensor<64x80xbf16, #c> to tensor<64x80xf32, #c>
      %z = arith.addf %s, %w : tensor<64x80xf32, #c>
      scf.yield %z : tensor<64x80xf32, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:10:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// If there is no room for another ring, threads load the tile.
// CHECK-LABEL: func @a_tile_without_room
// CHECK: compute warps 4
// CHECK-NOT: sm.fallback_copy
// CHECK: tile.load %arg1
// CHECK: load warps 1
// CHECK-COUNT-1: sm.producer_load
// CHECK-NOT: sm.producer_load
module attributes {tile.roles = "load", tile.num_warps = 4 : i64, tile.shared_limit = 40000 : i64} {
  func.func @a_tile_without_room(%k: !tile.view<2xbf16>, %bias: !tile.view<2xbf16>, %n: index,
                                 %q: !sm.shared<64x64xbf16, 128>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x80xf32, #c>
    %r = scf.for %j = %c0 to %n step %c64 iter_args(%sum = %zero) -> tensor<64x80xf32, #c> {
      %ks = sm.load_shared %k[%j, %c0] [80, 64] : !tile.view<2xbf16> -> !sm.shared<80x64xbf16, 128>
      %f = sm.wgmma %q, %ks depth 64 acc %sum {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<80x64xbf16, 128>, tensor<64x80xf32, #c>
        -> !sm.inflight<tensor<64x80xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x80xf32, #c>>
      %b = tile.load %bias[%c0, %j] : !tile.view<2xbf16> -> tensor<64x80xbf16, #c>
      %w = arith.extf %b : tensor<64x80xbf16, #c> to tensor<64x80xf32, #c>
      %y = arith.addf %s, %w : tensor<64x80xf32, #c>
      scf.yield %y : tensor<64x80xf32, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// A loop in a loop: the ring position of the inner ring continues from one outer iteration to the next. The tile of the
// outer loop is released after the inner loop, by each warp, because the inner loop may run zero times. The registers
// are those of three program instances on a multiprocessor.
// CHECK-LABEL: func @two_loops
// CHECK-SAME: (%[[Q:.*]]: !tile.view<2xbf16>, %[[K:.*]]: !tile.view<2xbf16>
// CHECK: %[[QS:.*]] = sm.alloc : !sm.shared<2x64x64xbf16, 128>
// CHECK: %[[QB:.*]] = sm.channel %{{.*}} from load to [compute] : !sm.channel<2,
// CHECK: %[[KB:.*]] = sm.channel {{.*}}from load to [compute] : !sm.channel<3
// CHECK: compute warps 4 registers 128 {
// CHECK: scf.for
// CHECK: sm.consumer_wait %[[QB]]
// CHECK: scf.for
// CHECK: sm.consumer_wait %[[KB]]
// CHECK: sm.await
// CHECK: sm.release %[[KB]]
// CHECK: scf.yield
// CHECK: sm.release %[[QB]][%{{.*}}] per_warp
// CHECK: load warps 1 registers 32 {
// CHECK: scf.for {{.*}} iter_args(%[[QSLOT:.*]] = %{{.*}}, %[[QPHASE:.*]] = %{{.*}}, %[[SLOT0:.*]] = %{{.*}}, %[[PHASE0:.*]] = %{{.*}}) -> (i32, i32, i32, i32)
// CHECK: sm.producer_load %[[Q]]{{.*}} %[[QB]][%[[QSLOT]]] phase %[[QPHASE]]
// CHECK: %[[K_TURN:.*]]:2 = scf.for {{.*}} iter_args(%[[SLOT:.*]] = %[[SLOT0]], %[[PHASE:.*]] = %[[PHASE0]])
// CHECK: sm.producer_load %[[K]]{{.*}} %[[KB]][%[[SLOT]]] phase %[[PHASE]]
// CHECK: scf.yield %{{.*}}, %{{.*}}, %[[K_TURN]]#0, %[[K_TURN]]#1
module attributes {tile.roles = "load", tile.num_warps = 4 : i64, tile.num_stages = 3 : i64,
                   tile.instances_per_sm = 3 : i64} {
  func.func @two_loops(%q: !tile.view<2xbf16>, %k: !tile.view<2xbf16>, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
    scf.for %i = %c0 to %n step %c64 {
      %qs = sm.load_shared %q[%i, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %r = scf.for %j = %c0 to %n step %c64 iter_args(%sum = %zero) -> tensor<64x64xf32, #c> {
        %ks = sm.load_shared %k[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
        %f = sm.wgmma %qs, %ks depth 64 acc %sum {transpose_rhs}
          : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
          -> !sm.inflight<tensor<64x64xf32, #c>>
        %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
        scf.yield %s : tensor<64x64xf32, #c>
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// If the rows to load depend on a carried value, all warps copy.
module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  // expected-remark @+3 {{roles=load has no effect: no loop loads tiles that a producer could load; all warps copy}}
  // CHECK-LABEL: func @rows_from_memory
  // CHECK-NOT: sm.roles
  func.func @rows_from_memory(%k: !tile.view<2xbf16>, %p: !tile.view<1xi32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
    %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%sum = %zero, %row = %c0) -> (tensor<64x64xf32, #c>, index) {
      // expected-remark @+1 {{all warps copy this tile, not the producer: its position depends on values that only the consumers have}}
      %ks = sm.load_shared %k[%row, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %f = sm.wgmma %ks, %ks depth 64 acc %sum {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
      scf.yield %s, %j : tensor<64x64xf32, #c>, index
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

// The producer draws the work indices and passes them to the consumers, which end when it does. Each loop carries the
// ring positions of its own rings.
// CHECK-LABEL: func @dynamic
// CHECK-SAME: (%[[Q:.*]]: !tile.view<2xbf16>, %[[K:.*]]: !tile.view<2xbf16>, %[[COUNTER:.*]]: !tile.view<1xi32> {{.*}}, %[[LAST:.*]]: i32, %{{.*}}: index)
// CHECK: %[[QB:.*]] = sm.channel %{{.*}} from load to [compute] : !sm.channel<2,
// CHECK: %[[KB:.*]] = sm.channel {{.*}}from load to [compute] : !sm.channel<3
// CHECK: %[[NB:.*]] = sm.channel {{.*}}from load to [compute] : !sm.channel<2
// CHECK: compute warps 8 registers 232 {
// CHECK: scf.while (%[[SLOT:.*]] = %{{.*}}, %[[PHASE:.*]] = %{{.*}}, %[[KSLOT:.*]] = %{{.*}}, %[[KPHASE:.*]] = %{{.*}}) : (i32, i32, i32, i32) -> (i32, i32, i32, i32, i32)
// CHECK-NEXT: %[[NUMBER:.*]] = sm.consume_work %[[NB]][%[[SLOT]]] phase %[[PHASE]]
// CHECK-NEXT: sm.release %[[NB]][%[[SLOT]]] per_warp
// CHECK-NEXT: %[[MORE:.*]] = arith.cmpi slt, %[[NUMBER]], %[[LAST]]
// CHECK-NEXT: scf.condition(%[[MORE]]) %[[NUMBER]], %[[SLOT]], %[[PHASE]], %[[KSLOT]], %[[KPHASE]]
// CHECK: ^bb0(%[[I:.*]]: i32, %[[SLOT:.*]]: i32, %[[PHASE:.*]]: i32, %[[KSLOT:.*]]: i32, %[[KPHASE:.*]]: i32):
// CHECK: sm.consumer_wait %[[QB]][%[[SLOT]]] phase %[[PHASE]]
// CHECK: scf.for {{.*}}%{{.*}} = %[[KSLOT]], %{{.*}} = %[[KPHASE]]) ->
// CHECK: sm.consumer_wait %[[KB]]
// CHECK: sm.release %[[QB]][%[[SLOT]]]
// CHECK: attributes {tile.parallel}
// CHECK: load warps 1 registers 40 {
// CHECK: scf.while (%[[SLOT:.*]] = %{{.*}}, %[[PHASE:.*]] = %{{.*}}, %[[KSLOT:.*]] = %{{.*}}, %[[KPHASE:.*]] = %{{.*}}) : (i32, i32, i32, i32) -> (i32, i32, i32, i32, i32)
// CHECK-NEXT: %[[NUMBER:.*]] = sm.produce_work %[[COUNTER]], %[[NB]][%[[SLOT]]] phase %[[PHASE]]
// CHECK-NEXT: %[[MORE:.*]] = arith.cmpi slt, %[[NUMBER]], %[[LAST]]
// CHECK-NEXT: scf.condition(%[[MORE]]) %[[NUMBER]], %[[SLOT]], %[[PHASE]], %[[KSLOT]], %[[KPHASE]]
// CHECK: ^bb0(%[[I:.*]]: i32, %[[SLOT:.*]]: i32, %[[PHASE:.*]]: i32, %[[KSLOT:.*]]: i32, %[[KPHASE:.*]]: i32):
// CHECK: %[[BLOCK:.*]] = arith.index_cast %[[I]]
// CHECK: %[[ROW:.*]] = arith.muli %[[BLOCK]]
// CHECK: sm.producer_load %[[Q]][%[[ROW]], %{{.*}}] [128, 64], %[[QB]][%[[SLOT]]] phase %[[PHASE]]
// CHECK: %[[TURN:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %[[KSLOT]], %{{.*}} = %[[KPHASE]])
// CHECK: sm.producer_load %[[K]]
// CHECK: scf.yield
// CHECK: %[[NEXT:.*]] = arith.select
// CHECK: %[[OTHER:.*]] = arith.select
// CHECK: scf.yield %[[NEXT]], %[[OTHER]], %[[TURN]]#0, %[[TURN]]#1
module attributes {tile.roles = "load", tile.num_warps = 8 : i64, tile.num_stages = 3 : i64} {
  func.func @dynamic(%q: !tile.view<2xbf16>, %k: !tile.view<2xbf16>, %counter: !tile.view<1xi32> {tile.counter, tile.written},
                     %last: i32, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32, #c>
    scf.while : () -> i32 {
      %number = tile.next_work %counter : !tile.view<1xi32>
      %more = arith.cmpi slt, %number, %last : i32
      scf.condition(%more) %number : i32
    } do {
    ^bb0(%i: i32):
      %block = arith.index_cast %i : i32 to index
      %row = arith.muli %block, %c128 : index
      %qs = sm.load_shared %q[%row, %c0] [128, 64] : !tile.view<2xbf16> -> !sm.shared<128x64xbf16, 128>
      %r = scf.for %j = %c0 to %n step %c64 iter_args(%sum = %zero) -> tensor<128x64xf32, #c> {
        %ks = sm.load_shared %k[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
        %f = sm.wgmma %qs, %ks depth 64 acc %sum {transpose_rhs}
          : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<128x64xf32, #c>
          -> !sm.inflight<tensor<128x64xf32, #c>>
        %s = sm.await %f : !sm.inflight<tensor<128x64xf32, #c>>
        scf.yield %s : tensor<128x64xf32, #c>
      }
      scf.yield
    } attributes {tile.parallel}
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

// A producer cannot repeat an scf.while whose iterations are not work indices.
// CHECK-LABEL: func @not_dynamic
// CHECK-NOT: sm.roles
module attributes {tile.roles = "load", tile.num_warps = 8 : i64} {
  // expected-remark @+1 {{roles=load has no effect: no loop loads tiles that a producer could load; all warps copy}}
  func.func @not_dynamic(%q: !tile.view<2xbf16>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32, #c>
    scf.while (%i = %c0) : (index) -> index {
      %more = arith.cmpi slt, %i, %n : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      // expected-remark @+1 {{all warps copy this tile, not the producer: its position depends on values that only the consumers have}}
      %qs = sm.load_shared %q[%i, %c0] [128, 64] : !tile.view<2xbf16> -> !sm.shared<128x64xbf16, 128>
      %f = sm.wgmma %qs, %qs depth 64 acc %zero
        : !sm.shared<128x64xbf16, 128>, !sm.shared<128x64xbf16, 128>, tensor<128x64xf32, #c>
        -> !sm.inflight<tensor<128x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<128x64xf32, #c>>
      %next = arith.addi %i, %c1 : index
      scf.yield %next : index
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

// A remark on a field that the compiler chose says so.
// CHECK-LABEL: func @chosen_in_vain
// CHECK-NOT: sm.roles
module attributes {tile.roles = "load", tile.chosen = ["roles"], tile.num_warps = 8 : i64} {
  // expected-remark @+1 {{roles=load, which the compiler chose, has no effect: no loop loads tiles that a producer could load; all warps copy}}
  func.func @chosen_in_vain(%q: !tile.view<2xbf16>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32, #c>
    scf.while (%i = %c0) : (index) -> index {
      %more = arith.cmpi slt, %i, %n : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      // expected-remark @+1 {{all warps copy this tile, not the producer: its position depends on values that only the consumers have}}
      %qs = sm.load_shared %q[%i, %c0] [128, 64] : !tile.view<2xbf16> -> !sm.shared<128x64xbf16, 128>
      %f = sm.wgmma %qs, %qs depth 64 acc %zero
        : !sm.shared<128x64xbf16, 128>, !sm.shared<128x64xbf16, 128>, tensor<128x64xf32, #c>
        -> !sm.inflight<tensor<128x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<128x64xf32, #c>>
      %next = arith.addi %i, %c1 : index
      scf.yield %next : index
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// An sm.mma may read the same tile. Each warp then releases the tile after it, and a proxy fence follows the sm.mma,
// because TMA writes to the slot next.
// CHECK-LABEL: func @a_second_product
// CHECK: compute warps 4
// CHECK: %[[TILE:.*]] = sm.consumer_wait
// CHECK: sm.await
// CHECK-NOT: sm.release
// CHECK: scf.if
// CHECK: sm.mma %{{.*}}, %[[TILE]]
// CHECK-NEXT: sm.proxy_fence
// CHECK: sm.release %{{.*}} per_warp
module attributes {tile.roles = "load", tile.num_warps = 4 : i64, tile.num_stages = 2 : i64} {
  func.func @a_second_product(%k: !tile.view<2xbf16>, %qs: !sm.shared<64x64xbf16, 128>, %n: index, %rare: i1) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    scf.for %j = %c0 to %n step %c64 {
      %ks = sm.load_shared %k[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %f = sm.wgmma %qs, %ks depth 64 {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !sm.inflight<tensor<64x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
      %t = scf.if %rare -> tensor<64x64xf32, #c> {
        %again = sm.mma %qs, %ks depth 64 {transpose_rhs}
          : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> tensor<64x64xf32, #c>
        scf.yield %again : tensor<64x64xf32, #c>
      } else {
        scf.yield %s : tensor<64x64xf32, #c>
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// Lanes may read the same tile to registers. Each warp then releases the tile after the last reader and a proxy fence.
// CHECK-LABEL: func @a_tile_for_both
// CHECK: compute warps 4
// CHECK: %[[K:.*]] = sm.consumer_wait
// CHECK: sm.read %[[K]]
// CHECK: sm.wgmma %arg1, %[[K]]
// CHECK: sm.await
// CHECK-NEXT: sm.proxy_fence
// CHECK-NEXT: sm.release {{.*}} per_warp
// CHECK: load warps 1
// CHECK: sm.producer_load %arg0
module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  func.func @a_tile_for_both(%k: !tile.view<2xbf16>, %qs: !sm.shared<64x64xbf16, 128>, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
    %none = arith.constant dense<0.0> : tensor<64x64xbf16, #c>
    %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%sum = %zero, %largest = %none)
        -> (tensor<64x64xf32, #c>, tensor<64x64xbf16, #c>) {
      %ks = sm.load_shared %k[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %x = sm.read %ks : !sm.shared<64x64xbf16, 128> -> tensor<64x64xbf16, #c>
      %f = sm.wgmma %qs, %ks depth 64 acc %sum {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
      %y = arith.maximumf %largest, %x : tensor<64x64xbf16, #c>
      scf.yield %s, %y : tensor<64x64xf32, #c>, tensor<64x64xbf16, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// The slot of a bias is released together with the slot of the keys, which each warp may read once more. The producer
// waits for the slot of the keys first, and one release after a fence serves both.
// CHECK-LABEL: func @slots_that_come_back_together
// CHECK: compute warps 4
// CHECK-NOT: sm.release
// CHECK: sm.proxy_fence
// CHECK-NEXT: sm.release %[[KEYS:[0-9]+]][{{.*}} per_warp
// CHECK-NOT: sm.release
// CHECK: load warps 1
// CHECK: sm.producer_load %arg0[{{.*}}, %[[KEYS]][
// CHECK: sm.producer_load %arg1[
module attributes {tile.roles = "load", tile.num_warps = 4 : i64, tile.num_stages = 2 : i64} {
  func.func @slots_that_come_back_together(%k: !tile.view<2xbf16>, %bias: !tile.view<2xbf16>,
                                           %qs: !sm.shared<64x64xbf16, 128>, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
    %r = scf.for %j = %c0 to %n step %c64 iter_args(%sum = %zero) -> tensor<64x64xf32, #c> {
      %ks = sm.load_shared %k[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %f = sm.wgmma %qs, %ks depth 64 acc %sum {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
      %b = tile.load %bias[%c0, %j] : !tile.view<2xbf16> -> tensor<64x64xbf16, #c>
      %w = arith.extf %b : tensor<64x64xbf16, #c> to tensor<64x64xf32, #c>
      %y = arith.addf %s, %w : tensor<64x64xf32, #c>
      %again = sm.mma %qs, %ks depth 64 acc %y {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c> -> tensor<64x64xf32, #c>
      scf.yield %again : tensor<64x64xf32, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// Two biases share the release of the keys in the same way.
// CHECK-LABEL: func @two_slots_with_a_third
// CHECK: compute warps 4
// CHECK-NOT: sm.release
// CHECK: sm.proxy_fence
// CHECK-NEXT: sm.release %[[KEYS:[0-9]+]][{{.*}} per_warp
// CHECK-NOT: sm.release
// CHECK: load warps 1
// CHECK: sm.producer_load %arg0[{{.*}}, %[[KEYS]][
// CHECK: sm.producer_load %arg1[
// CHECK: sm.producer_load %arg2[
module attributes {tile.roles = "load", tile.num_warps = 4 : i64, tile.num_stages = 2 : i64} {
  func.func @two_slots_with_a_third(%k: !tile.view<2xbf16>, %bias: !tile.view<2xbf16>, %other: !tile.view<2xbf16>,
                                           %qs: !sm.shared<64x64xbf16, 128>, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
    %r = scf.for %j = %c0 to %n step %c64 iter_args(%sum = %zero) -> tensor<64x64xf32, #c> {
      %ks = sm.load_shared %k[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %f = sm.wgmma %qs, %ks depth 64 acc %sum {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
      %b = tile.load %bias[%c0, %j] : !tile.view<2xbf16> -> tensor<64x64xbf16, #c>
      %d = tile.load %other[%c0, %j] : !tile.view<2xbf16> -> tensor<64x64xbf16, #c>
      %e = arith.addf %b, %d : tensor<64x64xbf16, #c>
      %w = arith.extf %e : tensor<64x64xbf16, #c> to tensor<64x64xf32, #c>
      %y = arith.addf %s, %w : tensor<64x64xf32, #c>
      %again = sm.mma %qs, %ks depth 64 acc %y {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c> -> tensor<64x64xf32, #c>
      scf.yield %again : tensor<64x64xf32, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:16:16]>

module attributes {tile.roles = "load", tile.num_warps = 16 : i64, tile.instances_per_sm = 4 : i64} {
  // expected-error @+1 {{num_warps of 16 and instances_per_sm of 4 leave a thread 16 registers; it must have 24 at least}}
  func.func @too_few_registers(%q: !sm.shared<256x64xbf16, 128>, %k: !tile.view<2xbf16>, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<256x64xf32, #c>
    %r = scf.for %j = %c0 to %n step %c64 iter_args(%sum = %zero) -> tensor<256x64xf32, #c> {
      %ks = sm.load_shared %k[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %f = sm.wgmma %q, %ks depth 64 acc %sum {transpose_rhs}
        : !sm.shared<256x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<256x64xf32, #c>
        -> !sm.inflight<tensor<256x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<256x64xf32, #c>>
      scf.yield %s : tensor<256x64xf32, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:16:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

// The producer loads operands of a matrix product, which begin at any multiple of 8 columns (16 bytes). The columns
// next to the first operand may hold any numbers, because its 64 columns are whole steps of the MMA's depth.
// CHECK-LABEL: func @columns
// CHECK: compute warps 8
// CHECK: load warps 1
// CHECK: scf.for %[[K:[^ ]*]] =
// CHECK-DAG: sm.producer_load %arg0[%{{.*}}, %[[K]]] [128, 64]
// CHECK-DAG: sm.producer_load %arg1[%[[K]], %{{.*}}] [64, 128]
module attributes {tile.roles = "load", tile.num_warps = 8 : i64, tile.num_stages = 4 : i64} {
  func.func @columns(%a: !tile.view<2xbf16>, %b: !tile.view<2xbf16>, %n: index, %last: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %x = tile.program_id 0
    %row = arith.muli %x, %c128 : index
    %y = tile.program_id 1
    %next = arith.muli %y, %c128 : index
    %end = arith.muli %last, %c64 : index
    %column = arith.minsi %next, %end : index
    %zero = arith.constant dense<0.0> : tensor<128x128xf32, #c>
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%sum = %zero) -> tensor<128x128xf32, #c> {
      %as = sm.load_shared %a[%row, %k] [128, 64] : !tile.view<2xbf16> -> !sm.shared<128x64xbf16, 128>
      %bs = sm.load_shared %b[%k, %column] [64, 128] : !tile.view<2xbf16> -> !sm.shared<64x128xbf16, 128>
      %f = sm.wgmma %as, %bs depth 64 acc %sum
        : !sm.shared<128x64xbf16, 128>, !sm.shared<64x128xbf16, 128>, tensor<128x128xf32, #c>
        -> !sm.inflight<tensor<128x128xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<128x128xf32, #c>>
      scf.yield %s : tensor<128x128xf32, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// The producer loads only tiles that TMA can copy. A remark says what is wrong with each of the others.
// CHECK-LABEL: func @no_boxes
// CHECK: compute warps 4
// CHECK: load warps 1
// CHECK: sm.producer_load %arg0
// CHECK-NOT: sm.producer_load
module attributes {tile.roles = "load", tile.num_warps = 4 : i64} {
  func.func @no_boxes(%k: !tile.view<2xbf16>, %written: !tile.view<2xbf16> {tile.written}, %n: index, %column: index,
                      %q: !sm.shared<64x64xbf16, 128>) {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
    %r = scf.for %j = %c0 to %n step %c64 iter_args(%sum = %zero) -> tensor<64x64xf32, #c> {
      %ks = sm.load_shared %k[%j, %c8] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      // expected-remark @+1 {{all warps copy this tile, not the producer: its first column is not provably a multiple of 8 (16 bytes); compute it as a product with such a constant}}
      %us = sm.load_shared %k[%j, %column] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      // expected-remark @+1 {{all warps copy this tile, not the producer: zeros must follow its columns}}
      %ps = sm.load_shared %k[%j, %c8] [64, 40] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      // expected-remark @+1 {{all warps copy this tile, not the producer: the kernel writes its tensor}}
      %ws = sm.load_shared %written[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %f = sm.wgmma %q, %ks depth 64 acc %sum {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
      %g = sm.wgmma %q, %us depth 64 acc %s {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %t = sm.await %g : !sm.inflight<tensor<64x64xf32, #c>>
      %h = sm.wgmma %q, %ps depth 40 acc %t {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %u = sm.await %h : !sm.inflight<tensor<64x64xf32, #c>>
      %i = sm.wgmma %q, %ws depth 64 acc %u {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %v = sm.await %i : !sm.inflight<tensor<64x64xf32, #c>>
      scf.yield %v : tensor<64x64xf32, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// The producer loads rows whose ends only the kernel knows, if TMA can leave out all others. A remark says what is wrong
// with each other tile.
// CHECK-LABEL: func @rows_that_the_kernel_knows
// CHECK: sm.roles
// CHECK: %[[ROWS:.*]] = tile.rows
// CHECK: sm.producer_load %[[ROWS]]
// CHECK-NOT: sm.producer_load
module attributes {tile.roles = "load", tile.num_warps = 4 : i64, tile.num_stages = 2 : i64} {
  func.func @rows_that_the_kernel_knows(%k: !tile.view<2xbf16>, %five: !tile.view<5xbf16>, %start: index, %n: index, %q: !sm.shared<64x64xbf16, 128>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
    %rows = tile.rows %k[%start, %n] : !tile.view<2xbf16>
    %twice = tile.rows %rows[%start, %n] : !tile.view<2xbf16>
    %matrix = tile.slice %five[%c0, %c0, %c0] : !tile.view<5xbf16> -> !tile.view<2xbf16>
    %deep = tile.rows %matrix[%start, %n] : !tile.view<2xbf16>
    %r = scf.for %j = %c0 to %n step %c64 iter_args(%sum = %zero) -> tensor<64x64xf32, #c> {
      %before = arith.addi %j, %start : index
      %ks = sm.load_shared %rows[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      // expected-remark @+1 {{all warps copy this tile, not the producer: its first row in rows(begin, end) is not provably at least 0}}
      %us = sm.load_shared %rows[%before, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      // expected-remark @+1 {{all warps copy this tile, not the producer: TMA moves rows(begin, end) of a matrix only, no rows of such rows, and pages only of a table}}
      %ps = sm.load_shared %twice[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      // expected-remark @+1 {{all warps copy this tile, not the producer: its tensor has 5 dimensions; with rows(begin, end), TMA loads tiles of at most 4}}
      %ws = sm.load_shared %deep[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %f = sm.wgmma %q, %ks depth 64 acc %sum {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
      %g = sm.wgmma %q, %us depth 64 acc %s {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %t = sm.await %g : !sm.inflight<tensor<64x64xf32, #c>>
      %h = sm.wgmma %q, %ps depth 64 acc %t {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %u = sm.await %h : !sm.inflight<tensor<64x64xf32, #c>>
      %i = sm.wgmma %q, %ws depth 64 acc %u {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %v = sm.await %i : !sm.inflight<tensor<64x64xf32, #c>>
      scf.yield %v : tensor<64x64xf32, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:16:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

// A tile passes through two channels. The role between them waits for it, frees its slot when its lanes have read it,
// and stores the transpose.
// CHECK-LABEL: func @transposed(
// CHECK: %[[A:.*]] = sm.channel %{{.*}} from load to [compute] : !sm.channel<2, !sm.shared<128x32xf32, 128>>
// CHECK: %[[B:.*]] = sm.channel %{{.*}} from load to [transpose] : !sm.channel<2, !sm.shared<32x128xf32, 128>>
// CHECK: %[[BT:.*]] = sm.channel %{{.*}} from transpose to [compute] : !sm.channel<2, !sm.shared<128x32xf32, 128>>
// CHECK: compute warps 8 registers 200 {
// CHECK-NOT: %[[B]]
// CHECK: %[[RHS:.*]] = sm.consumer_wait %[[BT]][%[[SLOT:.*]]] phase
// CHECK: sm.wgmma %{{.*}}, %[[RHS]] depth 32 acc
// CHECK: sm.release %[[BT]][%[[SLOT]]] :
// CHECK: transpose warps 2 registers 104 {
// CHECK: scf.for %{{.*}} iter_args(%[[SLOT:.*]] = %c0{{.*}}, %[[PHASE:.*]] = %c0
// CHECK-NEXT: %[[TILE:.*]] = sm.consumer_wait %[[B]][%[[SLOT]]] phase %[[PHASE]]
// CHECK-NEXT: %[[READ:.*]] = sm.read %[[TILE]] : {{.*}} -> tensor<32x128xf32,
// CHECK-NEXT: %[[T:.*]] = tile.transpose %[[READ]] [1, 0]
// CHECK-NEXT: sm.proxy_fence
// CHECK-NEXT: sm.release %[[B]][%[[SLOT]]] per_warp
// CHECK-NEXT: sm.producer_store %[[T]], %[[BT]][%[[SLOT]]] phase %[[PHASE]] : tensor<128x32xf32,
// CHECK: load warps 1 registers 104 {
// CHECK: sm.producer_load %arg1{{.*}}, %[[B]]
// CHECK: sm.producer_load %arg0{{.*}}, %[[A]]
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

// All warps that load a tile also transpose it.
// CHECK-LABEL: func @transposed_by_all_warps(
// CHECK: compute warps 8 registers 232 {
// CHECK: %[[TILE:.*]] = sm.load_shared %arg1
// CHECK: %[[READ:.*]] = sm.read %[[TILE]]
// CHECK: %[[T:.*]] = tile.transpose %[[READ]] [1, 0]
// CHECK: %[[RHS:.*]] = sm.to_shared %[[T]]
// CHECK: sm.wgmma %{{.*}}, %[[RHS]]
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

// A tile outside loops passes each of its channels once, so nobody releases a slot.
// CHECK-LABEL: func @transposed_before_a_loop(
// CHECK: %[[B:.*]] = sm.channel %{{.*}} from load to [transpose] : !sm.channel<1, !sm.shared<32x128xf32, 128>>
// CHECK: %[[BT:.*]] = sm.channel %{{.*}} from transpose to [compute] : !sm.channel<1, !sm.shared<128x32xf32, 128>>
// CHECK: compute warps 8
// CHECK-NOT: sm.release %[[BT]]
// CHECK: transpose warps 2
// CHECK: sm.consumer_wait %[[B]]
// CHECK-NOT: sm.release
// CHECK: sm.producer_store %{{.*}}, %[[BT]]
// CHECK: load warps 1
module attributes {tile.roles = "load", tile.num_warps = 8 : i64} {
  func.func @transposed_before_a_loop(%a: !tile.view<2xf32>, %b: !tile.view<2xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %bs = sm.load_shared %b[%c0, %c0] [32, 128] : !tile.view<2xf32> -> !sm.shared<32x128xf32, 128>
    %bt = sm.transpose %bs : !sm.shared<32x128xf32, 128> -> !sm.shared<128x32xf32, 128>
    scf.for %i = %c0 to %n step %c128 {
      %as = sm.load_shared %a[%i, %c0] [128, 32] : !tile.view<2xf32> -> !sm.shared<128x32xf32, 128>
      %f = sm.wgmma %as, %bt depth 32 {transpose_rhs} : !sm.shared<128x32xf32, 128>, !sm.shared<128x32xf32, 128>
        -> !sm.inflight<tensor<128x128xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<128x128xf32, #c>>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// The producer loads tiles of the last dimensions of a tensor, whatever is fixed outside of them, also in pages.
// CHECK-LABEL: func @fixed_dimensions
// CHECK: sm.roles
// CHECK: %[[HEAD:.*]] = tile.slice %{{.*}}[%{{.*}}] axis 1
// CHECK-DAG: %[[MATRIX:.*]] = tile.slice %[[HEAD]]
// CHECK-DAG: %[[PAGES:.*]] = tile.pages %[[HEAD]]
// CHECK: sm.producer_load %[[MATRIX]]
// CHECK: sm.producer_load %[[PAGES]]
// CHECK-NOT: sm.producer_load
module attributes {tile.roles = "load", tile.num_warps = 4 : i64, tile.num_stages = 2 : i64} {
  func.func @fixed_dimensions(%k: !tile.view<4xbf16>, %x: !tile.view<3xbf16>, %table: !tile.view<1xi32>, %h: index, %n: index, %q: !sm.shared<64x64xbf16, 128>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
    %head = tile.slice %k[%h] axis 1 : !tile.view<4xbf16> -> !tile.view<3xbf16>
    %matrix = tile.slice %head[%h] : !tile.view<3xbf16> -> !tile.view<2xbf16>
    %pages = tile.pages %head[%table] page 16 : !tile.view<3xbf16>, !tile.view<1xi32> -> !tile.view<2xbf16>
    %between = tile.slice %x[%h] axis 1 : !tile.view<3xbf16> -> !tile.view<2xbf16>
    %r = scf.for %j = %c0 to %n step %c64 iter_args(%sum = %zero) -> tensor<64x64xf32, #c> {
      %ms = sm.load_shared %matrix[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %ps = sm.load_shared %pages[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      // expected-remark @+1 {{all warps copy this tile, not the producer: its rows and columns are not the last dimensions of its tensor; TMA moves tiles of these, so put them last}}
      %bs = sm.load_shared %between[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %f = sm.wgmma %q, %ms depth 64 acc %sum {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
      %g = sm.wgmma %q, %ps depth 64 acc %s {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %t = sm.await %g : !sm.inflight<tensor<64x64xf32, #c>>
      %i = sm.wgmma %q, %bs depth 64 acc %t {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %u = sm.await %i : !sm.inflight<tensor<64x64xf32, #c>>
      scf.yield %u : tensor<64x64xf32, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// The producer loads rows in pages of a table, if no box reaches into a second page.
// CHECK-LABEL: func @rows_in_pages
// CHECK: sm.roles
// CHECK: %[[PAGES:.*]] = tile.pages %{{.*}} page 16
// CHECK: sm.producer_load %[[PAGES]]
// CHECK-NOT: sm.producer_load
module attributes {tile.roles = "load", tile.num_warps = 4 : i64, tile.num_stages = 2 : i64} {
  func.func @rows_in_pages(%k: !tile.view<3xbf16>, %table: !tile.view<1xi32>, %start: index, %n: index, %q: !sm.shared<64x64xbf16, 128>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
    %pages = tile.pages %k[%table] page 16 : !tile.view<3xbf16>, !tile.view<1xi32> -> !tile.view<2xbf16>
    %small = tile.pages %k[%table] page 4 : !tile.view<3xbf16>, !tile.view<1xi32> -> !tile.view<2xbf16>
    %rows = tile.rows %pages[%start, %n] : !tile.view<2xbf16>
    %packed = tile.pages %k : !tile.view<3xbf16> -> !tile.view<2xbf16>
    %r = scf.for %j = %c0 to %n step %c64 iter_args(%sum = %zero) -> tensor<64x64xf32, #c> {
      %ks = sm.load_shared %pages[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      // expected-remark @+1 {{all warps copy this tile, not the producer: its 64 rows and pages of 4 rows have no common parts for boxes; these have a power of two of rows, at least 8}}
      %us = sm.load_shared %small[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      // expected-remark @+1 {{all warps copy this tile, not the producer: its first row is not provably a multiple of 16, so a box may reach into a second page; begin the loop over rows, and rows(begin, end), at such a multiple}}
      %ps = sm.load_shared %rows[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      // expected-remark @+1 {{all warps copy this tile, not the producer: TMA moves rows(begin, end) of a matrix only, no rows of such rows, and pages only of a table}}
      %ws = sm.load_shared %packed[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %f = sm.wgmma %q, %ks depth 64 acc %sum {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
      %g = sm.wgmma %q, %us depth 64 acc %s {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %t = sm.await %g : !sm.inflight<tensor<64x64xf32, #c>>
      %h = sm.wgmma %q, %ps depth 64 acc %t {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %u = sm.await %h : !sm.inflight<tensor<64x64xf32, #c>>
      %i = sm.wgmma %q, %ws depth 64 acc %u {transpose_rhs}
        : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
        -> !sm.inflight<tensor<64x64xf32, #c>>
      %v = sm.await %i : !sm.inflight<tensor<64x64xf32, #c>>
      scf.yield %v : tensor<64x64xf32, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

// A loop has a step list for each role, which the role's loop gets. A label goes with its load.
// CHECK-LABEL: func @step_lists
// CHECK: compute warps 8
// CHECK: sm.wgmma
// CHECK: } {tile.steps = "s"}
// CHECK: load warps 1
// CHECK: sm.producer_load {{.*}} {tile.label = "k"}
// CHECK: } {tile.steps = "k"}
module attributes {tile.roles = "load", tile.num_warps = 8 : i64, tile.num_stages = 3 : i64} {
  func.func @step_lists(%q: !sm.shared<128x64xbf16, 128>, %k: !tile.view<2xbf16>, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    scf.for %j = %c0 to %n step %c64 {
      %ks = sm.load_shared %k[%j, %c0] [64, 64] {tile.label = "k"} : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %f = sm.wgmma %q, %ks depth 64 {transpose_rhs, tile.label = "s"}
        : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !sm.inflight<tensor<128x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<128x64xf32, #c>>
    } {tile.steps = "s", tile.role_steps = {load = "k"}}
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

module attributes {tile.roles = "load", tile.num_warps = 8 : i64, tile.num_stages = 3 : i64} {
  func.func @no_such_role(%q: !sm.shared<128x64xbf16, 128>, %k: !tile.view<2xbf16>, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    // expected-error @+1 {{has a step list for a role 'store'; legal are compute, load}}
    scf.for %j = %c0 to %n step %c64 {
      %ks = sm.load_shared %k[%j, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %f = sm.wgmma %q, %ks depth 64 {transpose_rhs}
        : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !sm.inflight<tensor<128x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<128x64xf32, #c>>
    } {tile.role_steps = {store = "k"}}
    // expected-error @+1 {{has a step list for the role 'load', which does nothing in this loop}}
    scf.for %j = %c0 to %n step %c64 {
      %f = sm.wgmma %q, %q depth 64 {transpose_rhs}
        : !sm.shared<128x64xbf16, 128>, !sm.shared<128x64xbf16, 128> -> !sm.inflight<tensor<128x128xf32, #sm.layout<registers = [1:2:1, 0:2:8, 1:16:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>>>
      %s = sm.await %f : !sm.inflight<tensor<128x128xf32, #sm.layout<registers = [1:2:1, 0:2:8, 1:16:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>>>
    } {tile.role_steps = {load = "k"}}
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

// The tiles of A and B that one MMA reads, and no other op, are parts of one slot: the consumers wait and release once,
// and the producer waits for the slot before it loads A.
// CHECK-LABEL: func @product
// CHECK: %[[A:.*]] = sm.alloc : !sm.shared<3x128x64xbf16, 128>
// CHECK-NEXT: %[[B:.*]] = sm.alloc : !sm.shared<3x64x64xbf16, 128>
// CHECK-NEXT: %[[AB:.*]] = sm.channel %[[A]], %[[B]] from load to [compute] : !sm.channel<3, !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128>>
// CHECK-NOT: sm.channel %
// CHECK: compute warps 8
// CHECK: %[[TILES:.*]]:2 = sm.consumer_wait %[[AB]][%[[SLOT:.*]]] phase
// CHECK-NEXT: %[[F:.*]] = sm.wgmma %[[TILES]]#0, %[[TILES]]#1 depth 64
// CHECK-NEXT: sm.await %[[F]]
// CHECK-NEXT: sm.release %[[AB]][%[[SLOT]]] : !sm.channel
// CHECK-NOT: sm.release
// CHECK: load warps 1
// CHECK: sm.producer_load %arg0{{.*}} [128, 64], %[[AB]][%[[SLOT:.*]]] phase %[[PHASE:.*]] : !tile.view
// CHECK-NEXT: sm.producer_load %arg1{{.*}} [64, 64], %[[AB]][%[[SLOT]]] phase %[[PHASE]] part 1 : !tile.view
// CHECK-NOT: sm.producer_load
module attributes {tile.roles = "load", tile.num_warps = 8 : i64, tile.num_stages = 3 : i64} {
  func.func @product(%a: !tile.view<2xbf16>, %b: !tile.view<2xbf16>, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32, #c>
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%sum = %zero) -> tensor<128x64xf32, #c> {
      %as = sm.load_shared %a[%c0, %k] [128, 64] : !tile.view<2xbf16> -> !sm.shared<128x64xbf16, 128>
      %bs = sm.load_shared %b[%k, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %f = sm.wgmma %as, %bs depth 64 acc %sum
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

// C and D are needed by different MMAs, and A is released after the second one. Each has a channel of its own, so that
// no MMA waits for a tile of the other, and no slot is freed late.
// CHECK-LABEL: func @different_uses
// CHECK-COUNT-3: sm.channel %{{.*}} : !sm.channel<3, !sm.shared<{{[0-9]+}}x64xbf16, 128>>
// CHECK-NOT: sm.channel %
// CHECK: sm.roles {
// CHECK-NOT: part 1
module attributes {tile.roles = "load", tile.num_warps = 8 : i64, tile.num_stages = 3 : i64} {
  func.func @different_uses(%a: !tile.view<2xbf16>, %b: !tile.view<2xbf16>, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32, #c>
    %r:2 = scf.for %k = %c0 to %n step %c64 iter_args(%one = %zero, %two = %zero)
        -> (tensor<128x64xf32, #c>, tensor<128x64xf32, #c>) {
      %as = sm.load_shared %a[%c0, %k] [128, 64] : !tile.view<2xbf16> -> !sm.shared<128x64xbf16, 128>
      %cs = sm.load_shared %b[%k, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %ds = sm.load_shared %b[%k, %c64] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %f = sm.wgmma %as, %cs depth 64 acc %one
        : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<128x64xf32, #c>
        -> !sm.inflight<tensor<128x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<128x64xf32, #c>>
      %g = sm.wgmma %as, %ds depth 64 acc %two
        : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<128x64xf32, #c>
        -> !sm.inflight<tensor<128x64xf32, #c>>
      %t = sm.await %g : !sm.inflight<tensor<128x64xf32, #c>>
      scf.yield %s, %t : tensor<128x64xf32, #c>, tensor<128x64xf32, #c>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

// Lanes read B, too, so each warp releases the slot of A and B.
// CHECK-LABEL: func @part_that_lanes_read
// CHECK: sm.channel %{{.*}}, %{{.*}} from load to [compute]
// CHECK: compute warps 8
// CHECK: %[[TILES:.*]]:2 = sm.consumer_wait
// CHECK: sm.wgmma %[[TILES]]#0, %[[TILES]]#1
// CHECK: sm.read %[[TILES]]#1
// CHECK: sm.wgmma %[[TILES]]#0, %[[TILES]]#1
// CHECK: sm.proxy_fence
// CHECK-NEXT: sm.release %{{.*}} per_warp : !sm.channel<2, !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128>>
module attributes {tile.roles = "load", tile.num_warps = 8 : i64, tile.num_stages = 2 : i64} {
  func.func @part_that_lanes_read(%a: !tile.view<2xbf16>, %b: !tile.view<2xbf16>, %n: index) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32, #c>
    scf.for %k = %c0 to %n step %c64 {
      %as = sm.load_shared %a[%c0, %k] [128, 64] : !tile.view<2xbf16> -> !sm.shared<128x64xbf16, 128>
      %bs = sm.load_shared %b[%k, %c0] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
      %f = sm.wgmma %as, %bs depth 64 : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128>
        -> !sm.inflight<tensor<128x64xf32, #c>>
      %s = sm.await %f : !sm.inflight<tensor<128x64xf32, #c>>
      %l = sm.read %bs : !sm.shared<64x64xbf16, 128> -> tensor<64x64xbf16, #c>
      %g = sm.wgmma %as, %bs depth 64 : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128>
        -> !sm.inflight<tensor<128x64xf32, #c>>
      %t = sm.await %g : !sm.inflight<tensor<128x64xf32, #c>>
    }
    return
  }
}
