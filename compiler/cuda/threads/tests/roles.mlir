// RUN: tegula-opt %s --lower-to-threads --cse --split-input-file --verify-diagnostics | FileCheck %s

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// Warps 4 and later are the producer; one of them works. The tensor map is the first parameter, and the last one says
// whether it is valid. One lane loads everything if all tensor maps are valid, otherwise one warp copies. A box is a
// panel of 64 columns. K-major descriptors advance by 32 bytes per step.
// CHECK: tile.tensor_maps = [array<i64: 0, 128, 96, 0, 0, 64, 32>]
// CHECK-LABEL: func.func @fed(
// CHECK-SAME: %[[MAP:arg0]]: !llvm.ptr, {{.*}}, %[[FLAGS:arg[0-9]+]]: i64)
// CHECK: scf.if
// CHECK: mbarrier.init.shared::cta.b64 [$0], 1;
// CHECK: mbarrier.init.shared::cta.b64 [$0], 1;
// CHECK: fence.mbarrier_init
// CHECK: nvvm.barrier0
// CHECK: %[[PRODUCER:.*]] = arith.cmpi sge, %{{.*}}, %c4_i32
// CHECK: scf.if %[[PRODUCER]] {
// CHECK: setmaxnreg.dec.sync.aligned.u32 24;
// CHECK: %[[BIT:.*]] = arith.andi %[[FLAGS]], %c1_i64
// CHECK: %[[HAS:.*]] = arith.cmpi eq, %[[BIT]], %c1_i64
// CHECK: scf.if %[[HAS]] {
// CHECK-NEXT: scf.if
// CHECK: mbarrier.try_wait.parity
// CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], 8192;
// CHECK-COUNT-2: cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {$2, $3}], [$4];
// CHECK: } else {
// CHECK: mbarrier.try_wait.parity
// CHECK: scf.for
// CHECK: fence.proxy.async
// CHECK: nvvm.bar.warp.sync
// CHECK: @$0 mbarrier.arrive
// CHECK: } else {
// CHECK: setmaxnreg.inc.sync.aligned.u32 240;
// CHECK: mbarrier.try_wait.parity
// CHECK: wgmma.fence
// CHECK: %[[A:.*]] = llvm.inline_asm {{.*}}setp.ne.b32 p, 0, 0;{{.*}}wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {$0, $1, $2, $3, $4, $5, $6, $7}, da, db, p, 1, 1, 0, 1;
// CHECK: setp.ne.b32 p, 1, 0;
// CHECK: wgmma.commit_group
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: @$0 mbarrier.arrive
// CHECK: nvvm.barrier id = %c1_i32 number_of_threads = %c128_i32
module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 16384 : i64} {
  func.func @fed(%v: !tile.view<2xbf16>, %y: !tile.view<2xf32>) {
    %c0 = arith.constant 0 : index
    %i = arith.constant 0 : i32
    %a = sm.alloc {offset = 0 : i64} : !sm.shared<64x64xbf16, 128>
    %ring = sm.alloc {offset = 8192 : i64} : !sm.shared<1x32x128xbf16, 128>
    %b = sm.channel %ring from load to [compute] : !sm.channel<1, !sm.shared<32x128xbf16, 128>>
    sm.roles {
      compute warps 4 registers 240 barrier 1 {
        %k = sm.consumer_wait %b[%i] phase %i : !sm.channel<1, !sm.shared<32x128xbf16, 128>>
        %f = sm.wgmma %a, %k depth 32 {fenced} : !sm.shared<64x64xbf16, 128>, !sm.shared<32x128xbf16, 128>
          -> !sm.inflight<tensor<64x16xf32, #c>>
        %s = sm.await %f : !sm.inflight<tensor<64x16xf32, #c>>
        sm.release %b[%i] : !sm.channel<1, !sm.shared<32x128xbf16, 128>>
        sm.barrier
        tile.store %s, %y[%c0, %c0] : tensor<64x16xf32, #c>, !tile.view<2xf32>
      }
      load warps 1 registers 24 {
        %by_tma = sm.can_load_by_tma : i1
        scf.if %by_tma {
          sm.elect {
            sm.producer_load %v[%c0, %c0] [32, 96], %b[%i] phase %i : !tile.view<2xbf16>, !sm.channel<1, !sm.shared<32x128xbf16, 128>>
          }
        } else {
          %t = sm.producer_acquire %b[%i] phase %i : !sm.channel<1, !sm.shared<32x128xbf16, 128>>
          sm.fallback_copy %t, %v[%c0, %c0] [32, 96] : !sm.shared<32x128xbf16, 128>, !tile.view<2xbf16>
          sm.proxy_fence
          sm.barrier warp
          sm.producer_commit %b[%i] : !sm.channel<1, !sm.shared<32x128xbf16, 128>>
        }
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// With tma_only, the slot is marked as full even if TMA cannot load the tile. Consumers make the same test as the
// producer, and copy the tile in this case. The map has all columns of the tensor, because the tile may begin at any
// column, and the consumers' map is the same even if the tile begins at column 0.
// CHECK: tile.tensor_maps = [array<i64: 0, 128, 2147483647, 0, 0, 64, 64>]
// CHECK-LABEL: func.func @boxes_only(
// CHECK: setmaxnreg.dec
// CHECK: mbarrier.try_wait.parity
// CHECK: %[[BIT:.*]] = arith.andi %{{.*}}, %c1_i64
// CHECK: %[[HAS:.*]] = arith.cmpi eq, %[[BIT]], %c1_i64
// CHECK: %[[ALIGNED:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK: %[[IS_BOX:.*]] = arith.andi %[[HAS]], %[[ALIGNED]]
// CHECK: scf.if %[[IS_BOX]] {
// CHECK: cp.async.bulk.tensor.2d
// CHECK: } else {
// CHECK: mbarrier.arrive.shared
// CHECK: } else {
// CHECK: mbarrier.try_wait.parity
// CHECK-NOT: scf.for
// CHECK: mbarrier.arrive.shared
// CHECK: setmaxnreg.inc
// CHECK: mbarrier.try_wait.parity
// CHECK-NOT: %c2_i64
// CHECK: %[[FED:.*]] = arith.andi %{{.*}}, %{{.*}} : i1
// CHECK: scf.if %[[FED]] {
// CHECK-NEXT: } else {
// CHECK: nvvm.shfl.sync
// CHECK: scf.for
// CHECK-COUNT-8: ld.global.b16
// CHECK-NOT: ld.global.b16
// CHECK: nvvm.bar.warp.sync
// CHECK-NOT: %c2_i64
// CHECK: scf.if %{{.*}} {
// CHECK-NEXT: } else {
// CHECK: ldmatrix
module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 8192 : i64} {
  func.func @boxes_only(%v: !tile.view<2xbf16>, %j: index) {
    %i = arith.constant 0 : i32
    %ring = sm.alloc {offset = 0 : i64} : !sm.shared<1x64x64xbf16, 128>
    %b = sm.channel %ring from load to [compute] : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
    sm.roles {
      compute warps 4 registers 240 barrier 1 {
        %k = sm.consumer_wait %b[%i] phase %i : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
        %loaded = sm.is_loaded %k, %v[%j, %j] : !sm.shared<64x64xbf16, 128>, !tile.view<2xbf16>
        scf.if %loaded {
        } else {
          sm.fallback_copy %k, %v[%j, %j] [64, 16] rows_of_warp 16 : !sm.shared<64x64xbf16, 128>, !tile.view<2xbf16>
          sm.barrier warp
        }
        %c0 = arith.constant 0 : index
        %again = sm.is_loaded %k, %v[%j, %c0] : !sm.shared<64x64xbf16, 128>, !tile.view<2xbf16>
        scf.if %again {
        } else {
          sm.fallback_copy %k, %v[%j, %c0] [64, 16] rows_of_warp 16 : !sm.shared<64x64xbf16, 128>, !tile.view<2xbf16>
        }
        %x = sm.read %k : !sm.shared<64x64xbf16, 128> -> tensor<64x16xbf16, #c>
        sm.release %b[%i] per_warp : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
        tile.store %x, %v[%j, %j] : tensor<64x16xbf16, #c>, !tile.view<2xbf16>
      }
      load warps 1 registers 24 {
        %by_tma = sm.can_load_by_tma : i1
        scf.if %by_tma {
          sm.elect {
            %t = sm.producer_acquire %b[%i] phase %i : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
            %loaded = sm.is_loaded %t, %v[%j, %j] : !sm.shared<64x64xbf16, 128>, !tile.view<2xbf16>
            scf.if %loaded {
              sm.producer_load %v[%j, %j] [64, 16], %b[%i] phase %i tested : !tile.view<2xbf16>, !sm.channel<1, !sm.shared<64x64xbf16, 128>>
            } else {
              sm.producer_commit %b[%i] : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
            }
          }
        } else {
          sm.elect {
            %t = sm.producer_acquire %b[%i] phase %i : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
            sm.producer_commit %b[%i] : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
          }
        }
      }
    }
    return
  }
}

// -----

#v = #sm.layout<registers = [0:2:1, 0:8:8], lanes = [0:4:2, *:8], warps = [*:4]>

// A vector is one box without swizzle. Where TMA cannot copy it, the lane does, four elements at a time. Consumers read
// it from its slot if TMA has copied it and no element needs the fill value; otherwise they load it from the tensor.
// CHECK: tile.tensor_maps = [array<i64: 0, 0, 2147483647, 0, 0, 64>]
// CHECK-LABEL: func.func @a_vector(
// CHECK: setmaxnreg.dec
// CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], 256;
// CHECK: cp.async.bulk.tensor.2d.shared::cluster
// CHECK: } else {
// CHECK: scf.for
// CHECK-COUNT-4: ld.global.b32
// CHECK-COUNT-4: st.shared.b32
// CHECK: mbarrier.arrive.shared
// CHECK: setmaxnreg.inc
// CHECK: %[[OFFSET:.*]] = arith.muli %{{.*}}, %c256
// CHECK: mbarrier.try_wait.parity
// CHECK: %[[HAS:.*]] = arith.cmpi eq, %{{.*}}, %c1_i64
// CHECK: %[[FIRST:.*]] = arith.cmpi sge
// CHECK: %[[END:.*]] = arith.cmpi sle
// CHECK: %[[WHOLE:.*]] = arith.andi %[[FIRST]], %[[END]]
// CHECK: %[[IN_SLOT:.*]] = arith.andi %[[HAS]], %[[WHOLE]]
// CHECK: scf.if %[[IN_SLOT]] -> (f32
// CHECK-COUNT-8: ld.shared.v2.b32
// CHECK: } else {
// CHECK: nvvm.shfl.sync
// CHECK-COUNT-16: ld.global.b32
// CHECK: }
module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 1024 : i64} {
  func.func @a_vector(%lse: !tile.view<2xf32>, %head: index, %block: index, %slot: i32) {
    %c64 = arith.constant 64 : index
    %j = arith.muli %block, %c64 : index
    %ring = sm.alloc {offset = 0 : i64} : !sm.shared<2x64xf32, 0>
    %b = sm.channel %ring from load to [compute] : !sm.channel<2, !sm.shared<64xf32, 0>>
    sm.roles {
      compute warps 4 registers 240 barrier 1 {
        %row = tile.slice %lse[%head] : !tile.view<2xf32> -> !tile.view<1xf32>
        %k = sm.consumer_wait %b[%slot] phase %slot : !sm.channel<2, !sm.shared<64xf32, 0>>
        %loaded = sm.is_loaded %k, %row[%j] inside : !sm.shared<64xf32, 0>, !tile.view<1xf32>
        %x = scf.if %loaded -> tensor<64xf32, #v> {
          %read = sm.read %k : !sm.shared<64xf32, 0> -> tensor<64xf32, #v>
          scf.yield %read : tensor<64xf32, #v>
        } else {
          %load = tile.load %row[%j] {fill = 0x7F800000 : f32, tile.rare} : !tile.view<1xf32> -> tensor<64xf32, #v>
          scf.yield %load : tensor<64xf32, #v>
        }
        sm.release %b[%slot] per_warp : !sm.channel<2, !sm.shared<64xf32, 0>>
        tile.store %x, %row[%j] : tensor<64xf32, #v>, !tile.view<1xf32>
      }
      load warps 1 registers 24 {
        %row = tile.slice %lse[%head] : !tile.view<2xf32> -> !tile.view<1xf32>
        sm.elect {
          %t = sm.producer_acquire %b[%slot] phase %slot : !sm.channel<2, !sm.shared<64xf32, 0>>
          %loaded = sm.is_loaded %t, %row[%j] : !sm.shared<64xf32, 0>, !tile.view<1xf32>
          scf.if %loaded {
            sm.producer_load %row[%j] [64], %b[%slot] phase %slot tested : !tile.view<1xf32>, !sm.channel<2, !sm.shared<64xf32, 0>>
          } else {
            sm.fallback_copy %t, %row[%j] [64] : !sm.shared<64xf32, 0>, !tile.view<1xf32>
            sm.producer_commit %b[%slot] : !sm.channel<2, !sm.shared<64xf32, 0>>
          }
        }
      }
    }
    return
  }
}

// -----

// A warp copies six elements of a lane, two at a time: four at a time would write beyond the slot.
// CHECK-LABEL: func @a_vector_of_six(
// CHECK: setmaxnreg.dec
// CHECK: %[[END:.*]] = arith.select %{{.*}}, %c6_i32, %c0_i32
// CHECK: scf.for %{{.*}} = %c0_i32 to %[[END]] step %c2_i32
// CHECK-COUNT-2: ld.global.b32
// CHECK-COUNT-2: st.shared.b32
// CHECK-NOT: st.shared.b32
// CHECK: mbarrier.arrive.shared
module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 2048 : i64} {
  func.func @a_vector_of_six(%lse: !tile.view<1xf32>, %j: index, %slot: i32) {
    %ring = sm.alloc {offset = 0 : i64} : !sm.shared<2x192xf32, 0>
    %b = sm.channel %ring from load to [compute] : !sm.channel<2, !sm.shared<192xf32, 0>>
    sm.roles {
      compute warps 4 registers 240 barrier 1 {
        %k = sm.consumer_wait %b[%slot] phase %slot : !sm.channel<2, !sm.shared<192xf32, 0>>
        sm.release %b[%slot] per_warp : !sm.channel<2, !sm.shared<192xf32, 0>>
      }
      load warps 1 registers 24 {
        %t = sm.producer_acquire %b[%slot] phase %slot : !sm.channel<2, !sm.shared<192xf32, 0>>
        sm.fallback_copy %t, %lse[%j] [192] : !sm.shared<192xf32, 0>, !tile.view<1xf32>
        sm.barrier warp
        sm.producer_commit %b[%slot] : !sm.channel<2, !sm.shared<192xf32, 0>>
      }
    }
    return
  }
}

// -----

// The last warpgroup passes the mutex to the first one. Each pass is a barrier between two warpgroups, which orders no
// memory.
// CHECK-LABEL: func @sequence
// CHECK: setmaxnreg.inc
// CHECK: %[[IS_LAST:.*]] = arith.cmpi eq
// CHECK: scf.if %[[IS_LAST]] {
// CHECK: llvm.inline_asm {{.*}}sm.sequence{{.*}}"bar.arrive $0, 256;"
// CHECK: %[[OWN:.*]] = arith.addi %{{.*}}, %c2
// CHECK: nvvm.barrier id = %[[OWN]] number_of_threads = %{{.*}} {sm.sequence}
// CHECK: %[[NEXT:.*]] = arith.select
// CHECK: llvm.inline_asm {{.*}}"bar.arrive $0, 256;", "r,~{memory}" %[[NEXT]]
module attributes {tile.num_warps = 12 : i64, tile.arch = 90 : i64} {
  func.func @sequence() {
    sm.roles {
      compute warps 12 registers 160 barrier 1 turns 2 {
        sm.sequence_init
        sm.sequence_wait
        sm.sequence_arrive
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

// With per_warp, the first lane of each warp releases a tile. The lanes meet before only where a barrier says so.
// CHECK-LABEL: func @released_by_each_warp
// CHECK: %[[LANE:.*]] = arith.andi %{{.*}}, %c31_i32
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi eq, %[[LANE]], %c0_i32
// CHECK: mbarrier.init.shared::cta.b64 [$0], 1;
// CHECK: mbarrier.init.shared::cta.b64 [$0], 8;
// CHECK: setmaxnreg.inc
// CHECK: mbarrier.try_wait.parity
// CHECK: nvvm.bar.warp.sync
// CHECK: @$0 mbarrier.arrive{{.*}} %[[IS_FIRST]],
// CHECK-NOT: nvvm.bar.warp.sync
// CHECK: @$0 mbarrier.arrive{{.*}} %[[IS_FIRST]],
module attributes {tile.num_warps = 8 : i64, tile.arch = 90 : i64} {
  func.func @released_by_each_warp() {
    %i = arith.constant 0 : i32
    %ring = sm.alloc {offset = 0 : i64} : !sm.shared<1x32x128xbf16, 128>
    %b = sm.channel %ring from load to [compute] : !sm.channel<1, !sm.shared<32x128xbf16, 128>>
    sm.roles {
      compute warps 8 registers 232 barrier 1 {
        %k = sm.consumer_wait %b[%i] phase %i : !sm.channel<1, !sm.shared<32x128xbf16, 128>>
        sm.barrier warp
        sm.release %b[%i] per_warp : !sm.channel<1, !sm.shared<32x128xbf16, 128>>
        sm.release %b[%i] per_warp : !sm.channel<1, !sm.shared<32x128xbf16, 128>>
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 16384 : i64} {
  func.func @from_any_column(%v: !tile.view<2xbf16>, %column: index) {
    %c0 = arith.constant 0 : index
    %i = arith.constant 0 : i32
    %ring = sm.alloc {offset = 8192 : i64} : !sm.shared<1x32x128xbf16, 128>
    %b = sm.channel %ring from load to [compute] : !sm.channel<1, !sm.shared<32x128xbf16, 128>>
    sm.roles {
      compute warps 4 registers 240 barrier 1 {
        %k = sm.consumer_wait %b[%i] phase %i : !sm.channel<1, !sm.shared<32x128xbf16, 128>>
        sm.release %b[%i] : !sm.channel<1, !sm.shared<32x128xbf16, 128>>
      }
      load warps 1 registers 24 {
        sm.elect {
          // expected-error@+1 {{begins at any column; TMA copies such a tile only from multiples of 16 bytes, which tma_only allows for}}
          sm.producer_load %v[%c0, %column] [32, 96], %b[%i] phase %i : !tile.view<2xbf16>, !sm.channel<1, !sm.shared<32x128xbf16, 128>>
        }
      }
    }
    return
  }
}

// -----

// One lane draws the work index. It passes the index to the other lanes of its warp by a shuffle, and to the consumers
// in memory after the mbarriers.
// CHECK-LABEL: func.func @dynamic
// CHECK: scf.while
// CHECK: mbarrier.try_wait.parity
// CHECK: %[[MINE:.*]] = scf.if %{{.*}} -> (i32) {
// CHECK: atom.relaxed.gpu.global.inc.u32 $0, [$1], $2;
// CHECK: %[[NUMBER:.*]] = nvvm.shfl.sync idx %{{.*}}, %[[MINE]]
// CHECK: llvm.inline_asm {{.*}}"@$2 st.shared.b32 [$0], $1;"{{.*}} %{{.*}}, %[[NUMBER]],
// CHECK: @$0 mbarrier.arrive.shared::cta.b64 _, [$1];
// CHECK: scf.condition
// CHECK: } else {
// CHECK: scf.while
// CHECK: mbarrier.try_wait.parity
// CHECK: llvm.inline_asm {{.*}}ld.shared.b32 $0, [$1];
// CHECK: nvvm.bar.warp.sync
// CHECK: @$0 mbarrier.arrive.shared::cta.b64 _, [$1];
// CHECK: scf.condition
module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 0 : i64} {
  func.func @dynamic(%counter: !tile.view<1xi32>, %last: i32) {
    %i = arith.constant 0 : i32
    %b = sm.channel from load to [compute] : !sm.channel<2>
    sm.roles {
      compute warps 4 registers 240 barrier 1 {
        scf.while (%slot = %i) : (i32) -> (i32, i32) {
          %number = sm.consume_work %b[%slot] phase %i : !sm.channel<2>
          sm.barrier warp
          sm.release %b[%slot] per_warp : !sm.channel<2>
          %more = arith.cmpi slt, %number, %last : i32
          scf.condition(%more) %number, %slot : i32, i32
        } do {
        ^bb0(%number: i32, %slot: i32):
          scf.yield %slot : i32
        }
      }
      load warps 1 registers 24 {
        scf.while (%slot = %i) : (i32) -> (i32, i32) {
          %number = sm.produce_work %counter, %b[%slot] phase %i : !tile.view<1xi32>, !sm.channel<2>
          %more = arith.cmpi slt, %number, %last : i32
          scf.condition(%more) %number, %slot : i32, i32
        } do {
        ^bb0(%number: i32, %slot: i32):
          scf.yield %slot : i32
        }
      }
    }
    return
  }
}

// -----

// Warpgroups fill the ring for each other. Each has a full mbarrier for each slot, at which its four warps arrive. A
// wait for the tile waits for all warpgroups, and the store passes the turn. With already_full, there is no wait.
// CHECK-LABEL: func @exchanged
// CHECK-COUNT-6: mbarrier.init.shared::cta.b64 [$0], 4;
// CHECK-NOT: mbarrier.init
// CHECK: setmaxnreg.inc
// CHECK: %[[OTHER:.*]] = arith.select
// CHECK: mbarrier.try_wait.parity
// CHECK: stmatrix
// CHECK: fence.proxy.async
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: mbarrier.arrive
// CHECK-COUNT-2: mbarrier.try_wait.parity
// CHECK: wgmma.mma_async
// CHECK: wgmma.wait_group
// CHECK-NOT: mbarrier.try_wait.parity
// CHECK: wgmma.mma_async
#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>
#d = #sm.layout<registers = [1:2:1, 0:2:8, 1:16:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>
module attributes {tile.num_warps = 8 : i64, tile.arch = 90 : i64} {
  func.func @exchanged(%slot: i32, %phase: i32) {
    %ring = sm.alloc {offset = 0 : i64} : !sm.shared<3x128x64xbf16, 128>
    %b = sm.channel %ring from compute to [compute] per_warpgroup : !sm.channel<3, !sm.shared<128x64xbf16, 128>>
    sm.roles {
      compute warps 8 registers 160 barrier 1 {
        %x = arith.constant dense<1.0> : tensor<128x64xbf16, #c>
        sm.sequence_wait stores %b[%slot] phase %phase : !sm.channel<3, !sm.shared<128x64xbf16, 128>>
        sm.producer_store %x, %b[%slot] phase %phase : tensor<128x64xbf16, #c>, !sm.channel<3, !sm.shared<128x64xbf16, 128>>
        %t = sm.consumer_wait %b[%slot] phase %phase : !sm.channel<3, !sm.shared<128x64xbf16, 128>>
        %f = sm.wgmma %t, %t depth 64 {transpose_rhs} : !sm.shared<128x64xbf16, 128>, !sm.shared<128x64xbf16, 128>
          -> !sm.inflight<tensor<128x128xf32, #d>>
        %r = sm.await %f : !sm.inflight<tensor<128x128xf32, #d>>
        %u = sm.consumer_wait %b[%slot] phase %phase already_full : !sm.channel<3, !sm.shared<128x64xbf16, 128>>
        %g = sm.wgmma %u, %u depth 64 {transpose_rhs} : !sm.shared<128x64xbf16, 128>, !sm.shared<128x64xbf16, 128>
          -> !sm.inflight<tensor<128x128xf32, #d>>
        %h = sm.await %g : !sm.inflight<tensor<128x128xf32, #d>>
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

// Roles with equal registers share a warpgroup, and are lowered from the last to the first. In a role, warps count from
// 0, and meet at the role's own barrier, or as the lanes of one warp.
// CHECK: module attributes {{{.*}}tile.block_warps = 8 : i64
// CHECK-LABEL: func @three_roles
// CHECK: %[[WARP:.*]] = nvvm.shfl.sync
// CHECK: %[[OWN:.*]] = arith.subi %[[WARP]], %c4_i32
// CHECK: arith.muli %[[OWN]], %c32_i32
// CHECK: nvvm.barrier0
// CHECK: %[[IS_OTHER:.*]] = arith.cmpi sge, %[[WARP]], %c4_i32
// CHECK: scf.if %[[IS_OTHER]] {
// CHECK-NEXT: setmaxnreg.dec.sync.aligned.u32 40;
// CHECK: %[[IS_DRAW:.*]] = arith.cmpi eq, %[[WARP]], %c6_i32
// CHECK: scf.if %[[IS_DRAW]] {
// CHECK: atom
// CHECK: nvvm.bar.warp.sync
// CHECK: %[[END:.*]] = arith.cmpi slt, %[[WARP]], %c6_i32
// CHECK: %[[IS_STORE:.*]] = arith.andi %[[IS_OTHER]], %[[END]]
// CHECK: scf.if %[[IS_STORE]] {
// CHECK: mbarrier.try_wait
// CHECK: nvvm.barrier id = %c2_i32 number_of_threads = %c64_i32
// CHECK: st.global
// CHECK: } else {
// CHECK-NEXT: setmaxnreg.inc.sync.aligned.u32 232;
// CHECK: nvvm.barrier id = %c1_i32 number_of_threads = %c128_i32
#line = #sm.layout<registers = [], lanes = [0:32:1], warps = [0:2:32]>
module attributes {tile.num_warps = 4 : i64, tile.arch = 90 : i64} {
  func.func @three_roles(%counter: !tile.view<1xi32>, %y: !tile.view<1xf32>) {
    %zero = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %work = sm.channel from draw to [store] : !sm.channel<1>
    sm.roles {
      compute warps 4 registers 232 barrier 1 {
        sm.barrier
      }
      store warps 2 registers 40 barrier 2 {
        %n = sm.consume_work %work[%zero] phase %zero : !sm.channel<1>
        %x = arith.constant dense<1.0> : tensor<64xf32, #line>
        sm.barrier
        tile.store %x, %y[%c0] : tensor<64xf32, #line>, !tile.view<1xf32>
      }
      draw warps 1 registers 40 {
        %n = sm.produce_work %counter, %work[%zero] phase %zero : !tile.view<1xi32>, !sm.channel<1>
        sm.barrier
      }
    }
    return
  }
}

// -----

func.func @no_barriers() {
  // expected-error @+1 {{has no named barriers; plan-shared gives them to roles}}
  sm.roles {
    compute warps 4 registers 232 {
    }
  }
  return
}

// -----

// A role that stores for another one waits until the slot is empty. Its four warps arrive at the full mbarrier.
// CHECK-LABEL: func.func @stored
// CHECK: mbarrier.init{{.*}} [$0], 4;
// CHECK: mbarrier.try_wait.parity
// CHECK: stmatrix
// CHECK: fence.proxy.async
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: mbarrier.arrive
#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>
module attributes {tile.num_warps = 4 : i64, tile.arch = 90 : i64} {
  func.func @stored(%slot: i32, %phase: i32) {
    %ring = sm.alloc {offset = 0 : i64} : !sm.shared<1x64x64xbf16, 128>
    %t = sm.channel %ring from transpose to [compute] : !sm.channel<1, !tile>
    sm.roles {
      compute warps 4 registers 200 barrier 1 {
        %a = sm.consumer_wait %t[%slot] phase %phase : !sm.channel<1, !tile>
        sm.release %t[%slot] : !sm.channel<1, !tile>
      }
      transpose warps 4 registers 40 barrier 2 {
        %x = arith.constant dense<1.0> : tensor<64x64xbf16, #c>
        sm.producer_store %x, %t[%slot] phase %phase : tensor<64x64xbf16, #c>, !sm.channel<1, !tile>
      }
    }
    return
  }
}

// -----

// A tile of rows in pages is one box for each page. Lane i reads the place of the page of box i before one lane waits for
// the slot. The rows of the box end with those of the page, or of the view, and there are none if the page is absent. The
// bytes are those of the tile. All lanes say where a box is, and one of them copies it.
// CHECK: tile.tensor_maps = [array<i64: 0, 128, 64, 1, 1, 64, 16>]
// CHECK-LABEL: func.func @pages(
// CHECK: %[[TO_NEXT:.*]] = arith.divui %{{.*}}, %{{.*}} : index
// CHECK: scf.for %[[TILE:.*]] = %c0
// CHECK: %[[LANE:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: %[[BEFORE:.*]] = arith.muli %[[LANE]], %c16 : index
// CHECK: arith.addi %[[TILE]], %[[BEFORE]] : index
// CHECK: %[[ENTRY:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: %[[COUNT:.*]] = arith.select %[[EXISTS:.*]], %{{.*}}, %c0
// CHECK: %[[FIRST:.*]] = arith.muli %[[ENTRY]], %[[TO_NEXT]] : index
// CHECK: %[[PRESENT:.*]] = arith.select %[[EXISTS]], %[[FIRST]], %c0
// CHECK: %[[LAST:.*]] = arith.addi %[[PRESENT]], %[[COUNT]] : index
// CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
// CHECK: %[[END:.*]] = arith.index_cast %[[LAST]] : index to i32
// CHECK-NEXT: %[[WAITS:.*]] = nvvm.elect.sync
// CHECK-NEXT: scf.if %[[WAITS]] {
// CHECK: mbarrier.try_wait
// CHECK: scf.if
// CHECK-NEXT: mbarrier.arrive.expect_tx
// CHECK: scf.for %[[BOX:.*]] = %c0_i32 to %c2_i32
// CHECK-NEXT: %[[ITS_ROW:.*]] = nvvm.shfl.sync idx %{{.*}}, %[[ROW]], %[[BOX]],
// CHECK-NEXT: %[[ITS_END:.*]] = nvvm.shfl.sync idx %{{.*}}, %[[END]], %[[BOX]],
// CHECK: %[[COPIES:.*]] = nvvm.elect.sync
// CHECK-NEXT: scf.if %[[COPIES]] {
// CHECK: cp.async.bulk.tensor.4d.shared::cluster{{.*}}, %c0_i32, %[[ITS_ROW]], %[[ITS_END]], %c1073741824_i32,
// CHECK-NOT: cp.async.bulk.tensor
module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 4096 : i64} {
  func.func @pages(%pool: !tile.view<3xbf16>, %table: !tile.view<1xi32>, %n: index) {
    %i = arith.constant 0 : i32
    %ring = sm.alloc {offset = 0 : i64} : !sm.shared<1x32x64xbf16, 128>
    %b = sm.channel %ring from load to [compute] : !sm.channel<1, !sm.shared<32x64xbf16, 128>>
    sm.roles {
      compute warps 4 registers 240 barrier 1 {
        %k = sm.consumer_wait %b[%i] phase %i : !sm.channel<1, !sm.shared<32x64xbf16, 128>>
        sm.release %b[%i] per_warp : !sm.channel<1, !sm.shared<32x64xbf16, 128>>
      }
      load warps 1 registers 24 {
        %c0 = arith.constant 0 : index
        %c32 = arith.constant 32 : index
        %all = tile.pages %pool[%table] page 16 : !tile.view<3xbf16>, !tile.view<1xi32> -> !tile.view<2xbf16>
        %rows = tile.rows %all[%c0, %n] : !tile.view<2xbf16>
        scf.for %j = %c0 to %n step %c32 {
          sm.producer_load %rows[%j, %c0] [32, 64], %b[%i] phase %i : !tile.view<2xbf16>, !sm.channel<1, !sm.shared<32x64xbf16, 128>>
        }
      }
    }
    return
  }
}

// -----

// The map of a pool [pages, heads, rows, columns] has no dimension of pages: rows count through it. The head is the last
// coordinate, after the row and the two of the end.
// CHECK: tile.tensor_maps = [array<i64: 0, 128, 64, 1, 2, 64, 16>]
// CHECK-LABEL: func.func @pages_of_heads(
// CHECK: %[[TO_NEXT:.*]] = arith.divui %{{.*}}, %{{.*}} : index
// CHECK: scf.for
// CHECK: %[[HEAD:.*]] = arith.trunci %{{.*}} : i64 to i32
// CHECK: arith.muli %{{.*}}, %[[TO_NEXT]] : index
// CHECK: cp.async.bulk.tensor.5d.shared::cluster{{.*}} %c1073741824_i32, %[[HEAD]], %
// CHECK-NOT: cp.async.bulk.tensor
module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 4096 : i64} {
  func.func @pages_of_heads(%pool: !tile.view<4xbf16>, %table: !tile.view<1xi32>, %head: index, %n: index) {
    %i = arith.constant 0 : i32
    %ring = sm.alloc {offset = 0 : i64} : !sm.shared<1x32x64xbf16, 128>
    %b = sm.channel %ring from load to [compute] : !sm.channel<1, !sm.shared<32x64xbf16, 128>>
    sm.roles {
      compute warps 4 registers 240 barrier 1 {
        %k = sm.consumer_wait %b[%i] phase %i : !sm.channel<1, !sm.shared<32x64xbf16, 128>>
        sm.release %b[%i] per_warp : !sm.channel<1, !sm.shared<32x64xbf16, 128>>
      }
      load warps 1 registers 24 {
        %c0 = arith.constant 0 : index
        %c32 = arith.constant 32 : index
        %of_head = tile.slice %pool[%head] axis 1 : !tile.view<4xbf16> -> !tile.view<3xbf16>
        %all = tile.pages %of_head[%table] page 16 : !tile.view<3xbf16>, !tile.view<1xi32> -> !tile.view<2xbf16>
        scf.for %j = %c0 to %n step %c32 {
          sm.producer_load %all[%j, %c0] [32, 64], %b[%i] phase %i : !tile.view<2xbf16>, !sm.channel<1, !sm.shared<32x64xbf16, 128>>
        }
      }
    }
    return
  }
}

// -----

// If pages have lengths, a lane reads the length of its page, too. Its rows end there.
// CHECK-LABEL: func.func @pages_of_some_rows(
// CHECK: scf.for
// CHECK: arith.muli %{{.*}}, %c16 : index
// CHECK: %[[PAGE:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: %[[LENGTH:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: %[[HELD:.*]] = arith.minsi %{{.*}}, %[[LENGTH]] : index
// CHECK: %[[HAS_ROW:.*]] = arith.cmpi slt, %[[ROW:.*]], %[[LENGTH]] : index
// CHECK: %[[IN_PAGE:.*]] = arith.andi %{{.*}}, %[[HAS_ROW]] : i1
// CHECK: %[[EXISTS:.*]] = arith.andi %{{.*}}, %[[IN_PAGE]] : i1
// CHECK: %[[LEFT:.*]] = arith.minsi %{{.*}}, %[[HELD]] : index
// CHECK: arith.select %[[EXISTS]], %[[LEFT]], %c0
// CHECK: cp.async.bulk.tensor.4d.shared::cluster
module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 4096 : i64} {
  func.func @pages_of_some_rows(%pool: !tile.view<3xbf16>, %table: !tile.view<1xi32>, %lengths: !tile.view<1xi32>, %n: index) {
    %i = arith.constant 0 : i32
    %ring = sm.alloc {offset = 0 : i64} : !sm.shared<1x32x64xbf16, 128>
    %b = sm.channel %ring from load to [compute] : !sm.channel<1, !sm.shared<32x64xbf16, 128>>
    sm.roles {
      compute warps 4 registers 240 barrier 1 {
        %k = sm.consumer_wait %b[%i] phase %i : !sm.channel<1, !sm.shared<32x64xbf16, 128>>
        sm.release %b[%i] per_warp : !sm.channel<1, !sm.shared<32x64xbf16, 128>>
      }
      load warps 1 registers 24 {
        %c0 = arith.constant 0 : index
        %c32 = arith.constant 32 : index
        %rows = tile.pages %pool[%table] lengths %lengths page 16 : !tile.view<3xbf16>, !tile.view<1xi32>, !tile.view<1xi32> -> !tile.view<2xbf16>
        scf.for %j = %c0 to %n step %c32 {
          sm.producer_load %rows[%j, %c0] [32, 64], %b[%i] phase %i : !tile.view<2xbf16>, !sm.channel<1, !sm.shared<32x64xbf16, 128>>
        }
      }
    }
    return
  }
}

// -----

// A tile in one page has one box, which one lane loads.
// CHECK-LABEL: func.func @a_tile_in_a_page(
// CHECK-NOT: nvvm.elect.sync
// CHECK: cp.async.bulk.tensor.4d.shared::cluster
// CHECK-NOT: nvvm.shfl.sync
module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 131072 : i64} {
  func.func @a_tile_in_a_page(%pool: !tile.view<3xbf16>, %table: !tile.view<1xi32>, %n: index) {
    %i = arith.constant 0 : i32
    %ring = sm.alloc {offset = 0 : i64} : !sm.shared<1x32x64xbf16, 128>
    %b = sm.channel %ring from load to [compute] : !sm.channel<1, !sm.shared<32x64xbf16, 128>>
    sm.roles {
      compute warps 4 registers 240 barrier 1 {
        %k = sm.consumer_wait %b[%i] phase %i : !sm.channel<1, !sm.shared<32x64xbf16, 128>>
        sm.release %b[%i] per_warp : !sm.channel<1, !sm.shared<32x64xbf16, 128>>
      }
      load warps 1 registers 24 {
        %c0 = arith.constant 0 : index
        %step = arith.constant 32 : index
        %rows = tile.pages %pool[%table] page 64 : !tile.view<3xbf16>, !tile.view<1xi32> -> !tile.view<2xbf16>
        scf.for %j = %c0 to %n step %step {
          sm.elect {
            sm.producer_load %rows[%j, %c0] [32, 64], %b[%i] phase %i : !tile.view<2xbf16>, !sm.channel<1, !sm.shared<32x64xbf16, 128>>
          }
        }
      }
    }
    return
  }
}

// -----

// A lane has two of 64 boxes. One lane loads what has no pages.
// CHECK-LABEL: func.func @more_boxes_than_lanes(
// CHECK: mbarrier.arrive.expect_tx
// CHECK: cp.async.bulk.tensor.2d.shared::cluster
// CHECK: scf.for
// CHECK: arith.addi %{{.*}}, %c32_i32 : i32
// CHECK: mbarrier.try_wait
// CHECK: scf.for %{{.*}} = %c0_i32 to %c32_i32
// CHECK: cp.async.bulk.tensor.4d.shared::cluster
// CHECK: scf.for %[[BOX:.*]] = %c0_i32 to %c32_i32
// CHECK: arith.addi %[[BOX]], %c32_i32 : i32
// CHECK: cp.async.bulk.tensor.4d.shared::cluster
// CHECK-NOT: cp.async.bulk.tensor
module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 131072 : i64} {
  func.func @more_boxes_than_lanes(%pool: !tile.view<3xbf16>, %table: !tile.view<1xi32>, %n: index, %x: !tile.view<2xbf16>) {
    %i = arith.constant 0 : i32
    %ring = sm.alloc {offset = 0 : i64} : !sm.shared<1x512x64xbf16, 128>
    %b = sm.channel %ring from load to [compute] : !sm.channel<1, !sm.shared<512x64xbf16, 128>>
    %other = sm.alloc {offset = 65536 : i64} : !sm.shared<1x32x64xbf16, 128>
    %c = sm.channel %other from load to [compute] : !sm.channel<1, !sm.shared<32x64xbf16, 128>>
    sm.roles {
      compute warps 4 registers 240 barrier 1 {
        %q = sm.consumer_wait %c[%i] phase %i : !sm.channel<1, !sm.shared<32x64xbf16, 128>>
        %k = sm.consumer_wait %b[%i] phase %i : !sm.channel<1, !sm.shared<512x64xbf16, 128>>
        sm.release %b[%i] per_warp : !sm.channel<1, !sm.shared<512x64xbf16, 128>>
      }
      load warps 1 registers 24 {
        %c0 = arith.constant 0 : index
        %step = arith.constant 512 : index
        %rows = tile.pages %pool[%table] page 8 : !tile.view<3xbf16>, !tile.view<1xi32> -> !tile.view<2xbf16>
        sm.elect {
          sm.producer_load %x[%c0, %c0] [32, 64], %c[%i] phase %i : !tile.view<2xbf16>, !sm.channel<1, !sm.shared<32x64xbf16, 128>>
        }
        scf.for %j = %c0 to %n step %step {
          sm.producer_load %rows[%j, %c0] [512, 64], %b[%i] phase %i : !tile.view<2xbf16>, !sm.channel<1, !sm.shared<512x64xbf16, 128>>
        }
      }
    }
    return
  }
}

// -----

// Rows of a matrix in a tensor of four dimensions count through its first dimension, too, because a map has five. An
// index outside that dimension has no rows. The division of strides comes before all loops.
// CHECK: tile.tensor_maps = [array<i64: 0, 128, 64, 1, 2, 64, 32>]
// CHECK-LABEL: func.func @joined_rows(
// CHECK: %[[BETWEEN:.*]] = arith.divui %{{.*}}, %{{.*}} : index
// CHECK: scf.for %[[OWNER:.*]] = %c0
// CHECK: %[[EXISTS:.*]] = arith.cmpi ult, %[[OWNER]], %{{.*}} : index
// CHECK: %[[BEFORE:.*]] = arith.muli %[[OWNER]], %[[BETWEEN]] : index
// CHECK: %[[COUNT:.*]] = arith.select %[[EXISTS]], %{{.*}}, %c0
// CHECK: %[[LAST:.*]] = arith.addi %[[BEFORE]], %{{.*}} : index
// CHECK: %[[END:.*]] = arith.select %[[EXISTS]], %[[LAST]], %c0
// CHECK: cp.async.bulk.tensor.5d.shared::cluster
// CHECK-NOT: cp.async.bulk.tensor
module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 4096 : i64} {
  func.func @joined_rows(%keys: !tile.view<4xbf16>, %head: index, %n: index) {
    %i = arith.constant 0 : i32
    %ring = sm.alloc {offset = 0 : i64} : !sm.shared<1x32x64xbf16, 128>
    %b = sm.channel %ring from load to [compute] : !sm.channel<1, !sm.shared<32x64xbf16, 128>>
    sm.roles {
      compute warps 4 registers 240 barrier 1 {
        %k = sm.consumer_wait %b[%i] phase %i : !sm.channel<1, !sm.shared<32x64xbf16, 128>>
        sm.release %b[%i] per_warp : !sm.channel<1, !sm.shared<32x64xbf16, 128>>
      }
      load warps 1 registers 24 {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        scf.for %owner = %c0 to %n step %c1 {
          %matrix = tile.slice %keys[%owner, %head] : !tile.view<4xbf16> -> !tile.view<2xbf16>
          %rows = tile.rows %matrix[%owner, %n] : !tile.view<2xbf16>
          sm.elect {
            sm.producer_load %rows[%c0, %c0] [32, 64], %b[%i] phase %i : !tile.view<2xbf16>, !sm.channel<1, !sm.shared<32x64xbf16, 128>>
          }
        }
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!a = !sm.shared<64x64xbf16, 128>
!b = !sm.shared<32x64xbf16, 128>
!ring = !sm.channel<1, !a, !b>

// Both parts of a slot share its mbarriers: the lane waits once, and tells the full one the bytes of both, 8192 + 4096.
// Without TMA, lanes arrive once, after both copies. Consumers wait once.
// CHECK-LABEL: func.func @parts(
// CHECK-COUNT-2: mbarrier.init
// CHECK-NOT: mbarrier.init
// CHECK: nvvm.barrier0
// CHECK: mbarrier.try_wait
// CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], 12288;
// CHECK-NOT: mbarrier
// CHECK: cp.async.bulk.tensor.2d
// CHECK-NOT: mbarrier.arrive
// CHECK: cp.async.bulk.tensor.2d
// CHECK: } else {
// CHECK: mbarrier.try_wait
// CHECK-COUNT-2: scf.for
// CHECK: @$0 mbarrier.arrive
// CHECK: setmaxnreg.inc
// CHECK: mbarrier.try_wait
// CHECK-NOT: mbarrier.try_wait
// CHECK: wgmma.mma_async
// CHECK: @$0 mbarrier.arrive
// CHECK-NOT: mbarrier
module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 12288 : i64} {
  func.func @parts(%v: !tile.view<2xbf16>, %y: !tile.view<2xf32>) {
    %c0 = arith.constant 0 : index
    %i = arith.constant 0 : i32
    %as = sm.alloc {offset = 0 : i64} : !sm.shared<1x64x64xbf16, 128>
    %bs = sm.alloc {offset = 8192 : i64} : !sm.shared<1x32x64xbf16, 128>
    %ab = sm.channel %as, %bs from load to [compute] : !ring
    sm.roles {
      compute warps 4 registers 240 barrier 1 {
        %k, %l = sm.consumer_wait %ab[%i] phase %i : !ring
        %f = sm.wgmma %k, %l depth 32 {fenced, transpose_lhs} : !a, !b -> !sm.inflight<tensor<64x16xf32, #c>>
        %s = sm.await %f : !sm.inflight<tensor<64x16xf32, #c>>
        sm.release %ab[%i] : !ring
        tile.store %s, %y[%c0, %c0] : tensor<64x16xf32, #c>, !tile.view<2xf32>
      }
      load warps 1 registers 24 {
        %by_tma = sm.can_load_by_tma : i1
        scf.if %by_tma {
          sm.elect {
            sm.producer_load %v[%c0, %c0] [64, 64], %ab[%i] phase %i : !tile.view<2xbf16>, !ring
            sm.producer_load %v[%c0, %c0] [32, 64], %ab[%i] phase %i part 1 : !tile.view<2xbf16>, !ring
          }
        } else {
          %s, %t = sm.producer_acquire %ab[%i] phase %i : !ring
          sm.fallback_copy %s, %v[%c0, %c0] [64, 64] : !a, !tile.view<2xbf16>
          sm.fallback_copy %t, %v[%c0, %c0] [32, 64] : !b, !tile.view<2xbf16>
          sm.proxy_fence
          sm.barrier warp
          sm.producer_commit %ab[%i] : !ring
        }
      }
    }
    return
  }
}
