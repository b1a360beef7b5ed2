// RUN: tegula-opt %s --lower-to-threads --cse --split-input-file | FileCheck %s

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:16:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// One lane of each warp stores the warp's rows by TMA, in boxes of one panel. This needs a tensor map, and neither row
// nor matrix may be negative or 2^30 or more. Otherwise all lanes store.
// CHECK: tile.tensor_maps = [array<i64: 0, 128, 128, 0, 0, 64, 16>]
// CHECK-LABEL: func.func @stored(
// CHECK-SAME: %[[MAP:arg0]]: !llvm.ptr
// CHECK: setmaxnreg.inc
// CHECK-NOT: wait_group
// CHECK: stmatrix
// CHECK: fence.proxy.async.shared::cta;
// CHECK: nvvm.bar.warp.sync
// CHECK: %[[HAS:.*]] = arith.cmpi eq, %{{.*}}, %c1_i64
// CHECK: %[[ROW:.*]] = arith.cmpi ult, %{{.*}}, %c1073741824_i64
// CHECK: %[[BOTH:.*]] = arith.andi %[[HAS]], %[[ROW]]
// CHECK: %[[HEAD:.*]] = arith.cmpi ult, %{{.*}}, %c1073741824_i64
// CHECK: %[[ALL:.*]] = arith.andi %[[BOTH]], %[[HEAD]]
// CHECK: scf.if %[[ALL]] {
// CHECK: scf.if
// CHECK-COUNT-2: cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [$0, {$1, $2, $3}], [$4];{{.*}} %[[MAP]],
// CHECK: cp.async.bulk.commit_group;
// CHECK: } else {
// CHECK: st.global
// CHECK: }
// CHECK: cp.async.bulk.wait_group.read 0;
module attributes {tile.arch = 90 : i64, tile.num_warps = 4 : i64, tile.shared_bytes = 16384 : i64} {
  func.func @stored(%o: !tile.view<3xbf16>, %head: index, %i: index) {
    sm.roles {
      compute warps 4 registers 240 barrier 1 {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : tensor<64x128xbf16, #c>
        %s = sm.alloc {offset = 0 : i64} : !sm.shared<64x128xbf16, 128>
        sm.write %x, %s : tensor<64x128xbf16, #c>, !sm.shared<64x128xbf16, 128>
        sm.proxy_fence
        sm.barrier warp
        %matrix = tile.slice %o[%head] : !tile.view<3xbf16> -> !tile.view<2xbf16>
        %fits = sm.fits %o at %c0, %i, %head from !sm.shared<64x128xbf16, 128> rows_of_warp 16 : !tile.view<3xbf16>
        scf.if %fits {
          sm.tma_store %s, %matrix[%i, %c0] rows_of_warp 16 : !sm.shared<64x128xbf16, 128>, !tile.view<2xbf16>
        } else {
          sm.copy_out %s, %matrix[%i, %c0] [64, 128] rows_of_warp 16 : !sm.shared<64x128xbf16, 128>, !tile.view<2xbf16>
        }
        sm.tma_store_wait
      }
      load warps 1 registers 24 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#d = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// A wait has the number of stores that may still run, so the store closes a commit group on both sides.
// CHECK: tile.tensor_maps = [array<i64: 0, 128, 64, 0, 0, 64, 16>]
// CHECK-LABEL: func.func @stored_again(
// CHECK: setmaxnreg.inc
// CHECK: scf.for
// CHECK: cp.async.bulk.wait_group.read 2;
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: nvvm.stmatrix
// CHECK: cp.async.bulk.commit_group;
// CHECK-NOT: bulk
// CHECK: st.global
// CHECK: cp.async.bulk.commit_group;
// CHECK-NOT: bulk
// CHECK: nvvm.stmatrix
// CHECK-NOT: bulk
// CHECK: st.global
// CHECK-NOT: bulk
// CHECK: st.shared
// CHECK: cp.async.bulk.wait_group.read 0;
module attributes {tile.arch = 90 : i64, tile.num_warps = 4 : i64, tile.shared_bytes = 16384 : i64} {
  func.func @stored_again(%o: !tile.view<2xbf16>, %p: !tile.view<2xbf16>, %n: index) {
    sm.roles {
      compute warps 4 registers 240 barrier 1 {
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %x = arith.constant dense<1.0> : tensor<64x64xbf16, #c>
        %z = arith.constant dense<1.0> : tensor<64x16xf32, #d>
        %s = sm.alloc {offset = 0 : i64} : !sm.shared<64x64xbf16, 128>
        %shared = sm.alloc {offset = 8192 : i64} : !sm.shared<64x64xbf16, 128>
        %other = sm.alloc {offset = 12288 : i64} : !sm.shared<64x16xf32, 64>
        scf.for %i = %c0 to %n step %c64 {
          sm.tma_store_wait %s pending 2 : !sm.shared<64x64xbf16, 128>
          sm.barrier warp
          sm.write %x, %s : tensor<64x64xbf16, #c>, !sm.shared<64x64xbf16, 128>
          sm.proxy_fence
          sm.barrier warp
          %fits = sm.fits %o at %c0, %i from !sm.shared<64x64xbf16, 128> rows_of_warp 16 : !tile.view<2xbf16>
          scf.if %fits {
            sm.tma_store %s, %o[%i, %c0] rows_of_warp 16 : !sm.shared<64x64xbf16, 128>, !tile.view<2xbf16>
          } else {
            sm.copy_out %s, %o[%i, %c0] [64, 64] rows_of_warp 16 : !sm.shared<64x64xbf16, 128>, !tile.view<2xbf16>
            sm.tma_commit
          }
          sm.write %x, %shared : tensor<64x64xbf16, #c>, !sm.shared<64x64xbf16, 128>
          sm.barrier warp
          sm.copy_out %shared, %p[%i, %c0] [64, 64] rows_of_warp 16 : !sm.shared<64x64xbf16, 128>, !tile.view<2xbf16>
          sm.write %z, %other : tensor<64x16xf32, #d>, !sm.shared<64x16xf32, 64>
        }
        sm.tma_store_wait
      }
      load warps 1 registers 24 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16, 1:2:64]>

// Each warp writes its 16 rows and 64 columns, and one lane adds them in two boxes of one panel. Before that, the warp
// waits until TMA has read what it wrote before. Without a tensor map, or if a row or matrix is negative or too large,
// lanes add their registers. The loop's bounds limit its rows, so the test comes before the loop.
// CHECK: tile.tensor_maps = [array<i64: 0, 128, 2147483647, 0, 0, 32, 16>]
// CHECK-LABEL: func.func @added(
// CHECK-SAME: %[[MAP:arg0]]: !llvm.ptr
// CHECK: setmaxnreg.inc
// CHECK: %[[HAS:.*]] = arith.cmpi eq, %{{.*}}, %c1_i64
// CHECK: %[[END:.*]] = arith.cmpi ult, %{{.*}}, %c1073741824_i64
// CHECK: %[[BOTH:.*]] = arith.andi %[[HAS]], %[[END]]
// CHECK: %[[HEAD:.*]] = arith.cmpi ult, %{{.*}}, %c1073741824_i64
// CHECK: %[[ALL:.*]] = arith.andi %[[BOTH]], %[[HEAD]]
// CHECK: scf.for
// CHECK-NOT: arith.cmpi ult
// CHECK: scf.if %[[ALL]] {
// CHECK: cp.async.bulk.wait_group.read 0;
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: %[[ODD:.*]] = arith.cmpi eq, %{{.*}}, %c1_i32
// CHECK: %[[OTHER:.*]] = arith.select %[[ODD]], %c16_i32, %c0_i32
// CHECK: arith.xori %{{.*}}, %[[OTHER]]
// CHECK-COUNT-16: st.shared.v2.b32
// CHECK: fence.proxy.async.shared::cta;
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[LANE0:.*]] = arith.cmpi eq,
// CHECK: @$0 cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group [$1, {$2, $3, $4}], [$5];{{.*}} %[[LANE0]], %[[MAP]],
// CHECK-NEXT: @$0 cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group [$1, {$2, $3, $4}], [$5];{{.*}} %[[LANE0]], %[[MAP]],
// CHECK-NOT: cp.reduce
// CHECK: cp.async.bulk.commit_group;
// CHECK: } else {
// CHECK: red.relaxed.gpu.global.add.f32
// CHECK: cp.async.bulk.wait_group.read 0;
module attributes {tile.arch = 90 : i64, tile.num_warps = 8 : i64, tile.shared_bytes = 32768 : i64} {
  func.func @added(%o: !tile.view<3xf32>, %head: index, %n: index) {
    %s = sm.alloc {offset = 0 : i64} : !sm.shared<64x128xf32, 128>
    sm.roles {
      compute warps 8 registers 232 barrier 1 {
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %x = arith.constant dense<1.0> : tensor<64x128xf32, #c>
        %matrix = tile.slice %o[%head] : !tile.view<3xf32> -> !tile.view<2xf32>
        %fits = sm.fits %o at %c0, %c0, %n, %head from !sm.shared<64x128xf32, 128> : !tile.view<3xf32>
        scf.for %i = %c0 to %n step %c64 {
          scf.if %fits {
            %at:3 = sm.coordinates %matrix[%i, %c0] tested : !tile.view<2xf32> -> i32, i32, i32
            sm.tma_store_wait %s : !sm.shared<64x128xf32, 128>
            sm.barrier warp
            sm.write %x, %s staggered : tensor<64x128xf32, #c>, !sm.shared<64x128xf32, 128>
            sm.proxy_fence
            sm.barrier warp
            sm.tma_add %s layout #c, %o at %at#0, %at#1, %at#2 : !sm.shared<64x128xf32, 128>, !tile.view<3xf32>
          } else {
            tile.atomic_add %x, %matrix[%i, %c0] {tile.rare} : tensor<64x128xf32, #c>, !tile.view<2xf32>
          }
        }
        sm.tma_store_wait
      }
      load warps 1 registers 24 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:6:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// TMA sees 40 columns of the tensor. A warp writes zeros to the half of a panel for which it has no accumulators.
// CHECK-LABEL: func.func @narrow
// CHECK-COUNT-16: st.shared.v2.b32
// CHECK-NOT: st.shared
// CHECK-COUNT-2: cp.reduce.async.bulk.tensor.2d
// CHECK-NOT: cp.reduce
module attributes {tile.arch = 90 : i64, tile.num_warps = 4 : i64, tile.shared_bytes = 16384 : i64} {
  func.func @narrow(%o: !tile.view<2xf32>, %i: index) {
    %s = sm.alloc {offset = 0 : i64} : !sm.shared<64x64xf32, 128>
    sm.roles {
      compute warps 4 registers 232 barrier 1 {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : tensor<64x40xf32, #c>
        %fits = sm.fits %o at %i, %c0 from !sm.shared<64x64xf32, 128> columns 40 : !tile.view<2xf32>
        scf.if %fits {
          %at:2 = sm.coordinates %o[%i, %c0] tested : !tile.view<2xf32> -> i32, i32
          sm.write %x, %s staggered : tensor<64x40xf32, #c>, !sm.shared<64x64xf32, 128>
          sm.tma_add %s layout #c columns 40, %o at %at#0, %at#1 : !sm.shared<64x64xf32, 128>, !tile.view<2xf32>
        }
        sm.tma_store_wait
      }
      load warps 1 registers 24 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16, 1:2:64]>

// A channel by_barriers has no mbarriers, but words, which the first thread writes. The role that adds is the second warp
// beside those that compute. Each of its lanes adds what one of their warps has written. They wait at a barrier of their
// warpgroup until TMA has read their last tile. All lanes test what is known of a counter.
// CHECK-LABEL: func.func @added_in_turns
// CHECK-NOT: mbarrier.init
// CHECK: arith.cmpi eq, %{{.*}}, %c9_i32
// CHECK-COUNT-2: bar.arrive $0, 160;
// CHECK: scf.while
// CHECK: nvvm.barrier id = %{{.*}} number_of_threads = %c288_i32
// CHECK: scf.condition
// CHECK: %[[LATE:.*]] = arith.cmpi sgt, %{{.*}}, %c0_i32{{.*}} : i32
// CHECK: scf.if
// CHECK: scf.if
// CHECK: scf.if %[[LATE]]
// CHECK: ld.acquire.gpu.global.b32 now
// CHECK: nvvm.bar.warp.sync
// CHECK: fence.proxy.async.global;
// CHECK: arith.cmpi slt, %{{.*}}, %c8_i32
// CHECK-COUNT-2: cp.reduce.async.bulk.tensor.3d
// CHECK: cp.async.bulk.commit_group;
// CHECK: cp.async.bulk.wait_group.read 0;
// CHECK: nvvm.bar.warp.sync
// CHECK-COUNT-2: bar.arrive $0, 160;
// CHECK: ld.acquire.gpu.global.b32 $0
// CHECK: cp.async.bulk.wait_group 0;
// CHECK: nvvm.bar.warp.sync
// CHECK: red.release.gpu.global.max.s32
// CHECK: setmaxnreg.inc
// CHECK: nvvm.barrier id = %{{.*}} number_of_threads = %c160_i32
// CHECK-COUNT-16: st.shared.v2.b32
// CHECK: fence.proxy.async.shared::cta;
// CHECK-COUNT-7: st.shared.b32
// CHECK: bar.arrive $0, 288;
// CHECK-NOT: cp.reduce
// CHECK: } else {
// CHECK: ld.acquire.gpu.global.b32
// CHECK: red.relaxed.gpu.global.add.f32
// CHECK: red.release.gpu.global.max.s32
// CHECK: nvvm.barrier id = %{{.*}} number_of_threads = %c160_i32
// CHECK: st.shared.b32
// CHECK: bar.arrive $0, 288;
module attributes {tile.arch = 90 : i64, tile.num_warps = 8 : i64, tile.shared_bytes = 32768 : i64} {
  func.func @added_in_turns(%o: !tile.view<3xf32>, %turns: !tile.view<1xi32>, %head: index, %size: index, %n: i32, %m: i32) {
    %s = sm.alloc {offset = 0 : i64} : !sm.shared<1x64x128xf32, 128>
    %to = sm.channel %s from compute to [add] by_barriers words 6 {first_barrier = 2 : i64} : !sm.channel<1, !sm.shared<64x128xf32, 128>>
    sm.roles {
      compute warps 8 registers 232 barrier 1 {
        %zero = arith.constant 0 : i32
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %x = arith.constant dense<1.0> : tensor<64x128xf32, #c>
        %matrix = tile.slice %o[%head] : !tile.view<3xf32> -> !tile.view<2xf32>
        scf.for %i = %c0 to %size step %c64 {
          %fits = sm.fits %o at %c0, %c0, %size, %head from !sm.shared<64x128xf32, 128> : !tile.view<3xf32>
          scf.if %fits {
            %at:3 = sm.coordinates %matrix[%i, %c0] : !tile.view<2xf32> -> i32, i32, i32
            %place = sm.coordinates %turns[%i] : !tile.view<1xi32> -> i32
            sm.producer_store %x, %to[%zero] phase %zero words(%at#0, %at#1, %at#2, %place, %n, %m) staggered
              : tensor<64x128xf32, #c>, !sm.channel<1, !sm.shared<64x128xf32, 128>>
          } else {
            sm.wait_memory_turn %turns[%i] until %n : !tile.view<1xi32>
            sm.barrier
            tile.atomic_add %x, %matrix[%i, %c0] {tile.rare} : tensor<64x128xf32, #c>, !tile.view<2xf32>
            sm.barrier
            sm.pass_memory_turn %turns[%i] next %m : !tile.view<1xi32>
          }
        }
        sm.close %to : !sm.channel<1, !sm.shared<64x128xf32, 128>>
      }
      load warps 1 registers 24 {
      }
      add warps 1 registers 24 {
        %zero = arith.constant 0 : i32
        sm.release %to[%zero] per_warp : !sm.channel<1, !sm.shared<64x128xf32, 128>>
        scf.while : () -> () {
          %open = sm.next %to : !sm.channel<1, !sm.shared<64x128xf32, 128>>
          scf.condition(%open)
        } do {
          %tile = sm.consumer_wait %to[%zero] phase %zero already_full : !sm.channel<1, !sm.shared<64x128xf32, 128>>
          %w:6 = sm.words %to : !sm.channel<1, !sm.shared<64x128xf32, 128>> -> i32, i32, i32, i32, i32, i32
          %place = arith.index_cast %w#3 : i32 to index
          sm.wait_memory_turn %turns[%place] until %w#4 known %zero : !tile.view<1xi32>
          sm.barrier warp
          sm.proxy_fence tensors
          sm.tma_add %tile layout #c, %o at %w#0, %w#1, %w#2 : !sm.shared<64x128xf32, 128>, !tile.view<3xf32>
          sm.tma_store_wait %tile : !sm.shared<64x128xf32, 128>
          sm.barrier warp
          sm.release %to[%zero] per_warp : !sm.channel<1, !sm.shared<64x128xf32, 128>>
          %now = sm.read_memory_turn %turns[%place] : !tile.view<1xi32>
          sm.tma_store_wait written
          sm.barrier warp
          sm.pass_memory_turn %turns[%place] next %w#5 : !tile.view<1xi32>
          scf.yield
        }
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:16:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// Rows that end inside the tensor need a map of two more dimensions. A box has the row as the distance from 2^30 less
// the number of rows, then the end, then 2^30. A row before the first one counts as one after the end.
// CHECK: tile.tensor_maps = [array<i64: 0, 128, 128, 1, 0, 64, 16>]
// CHECK-LABEL: func.func @stored_to_rows(
// CHECK: stmatrix
// CHECK: scf.if
// CHECK: scf.if
// CHECK: %[[FIRST:.*]] = arith.minui %{{.*}}, %[[SIZE:.*]] : index
// CHECK-NEXT: %[[ATLEAST:.*]] = arith.maxsi %{{.*}}, %[[FIRST]] : index
// CHECK-NEXT: %[[END:.*]] = arith.minsi %[[ATLEAST]], %[[SIZE]] : index
// CHECK-NEXT: %[[WIDE:.*]] = arith.subi %[[END]], %[[FIRST]] : index
// CHECK-NEXT: %[[COUNT:.*]] = arith.index_cast %[[WIDE]] : index to i32
// CHECK-NEXT: %[[ROW:.*]] = arith.minui %{{.*}}, %[[COUNT]] : i32
// CHECK: %[[ROWS:.*]] = arith.subi %c1073741824_i32, %[[COUNT]] : i32
// CHECK-NEXT: %[[AT:.*]] = arith.addi %[[ROWS]], %[[ROW]] : i32
// CHECK-NEXT: %[[LAST:.*]] = arith.index_cast %[[END]] : index to i32
// CHECK-COUNT-2: cp.async.bulk.tensor.5d.global.shared::cta.bulk_group {{.*}}, %[[AT]], %[[LAST]], %c1073741824_i32, %
module attributes {tile.arch = 90 : i64, tile.num_warps = 4 : i64, tile.shared_bytes = 16384 : i64} {
  func.func @stored_to_rows(%o: !tile.view<3xbf16>, %head: index, %begin: index, %end: index, %i: index) {
    sm.roles {
      compute warps 4 registers 240 barrier 1 {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : tensor<64x128xbf16, #c>
        %s = sm.alloc {offset = 0 : i64} : !sm.shared<64x128xbf16, 128>
        sm.write %x, %s : tensor<64x128xbf16, #c>, !sm.shared<64x128xbf16, 128>
        sm.barrier warp
        %matrix = tile.slice %o[%head] : !tile.view<3xbf16> -> !tile.view<2xbf16>
        %rows = tile.rows %matrix[%begin, %end] : !tile.view<2xbf16>
        %fits = sm.fits %o at %c0, %i, %head from !sm.shared<64x128xbf16, 128> rows_of_warp 16 ends_inside : !tile.view<3xbf16>
        scf.if %fits {
          sm.tma_store %s, %rows[%i, %c0] rows_of_warp 16 : !sm.shared<64x128xbf16, 128>, !tile.view<2xbf16>
        } else {
          sm.copy_out %s, %rows[%i, %c0] [64, 128] rows_of_warp 16 : !sm.shared<64x128xbf16, 128>, !tile.view<2xbf16>
        }
      }
      load warps 1 registers 24 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:16:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// With two dimensions outside the rows, the map counts rows through the first one, here the batch entry. The rows of all
// entries before this one come before the end, and an entry that is not there has no rows.
// CHECK: tile.tensor_maps = [array<i64: 0, 128, 128, 1, 2, 64, 16>]
// CHECK-LABEL: func.func @stored_to_rows_of_heads(
// CHECK: %[[EXISTS:.*]] = arith.cmpi ult, %[[BATCH:.*]], %{{.*}} : index
// CHECK: scf.if
// CHECK: scf.if
// CHECK: %[[PITCH:.*]] = arith.divui %{{.*}}, %{{.*}} : index
// CHECK-NEXT: arith.muli %[[BATCH]], %[[PITCH]] : index
// CHECK-NEXT: arith.select %[[EXISTS]], %{{.*}}, %c0 : index
// CHECK-COUNT-2: cp.async.bulk.tensor.5d.global.shared::cta.bulk_group {{.*}}, %c1073741824_i32, %
module attributes {tile.arch = 90 : i64, tile.num_warps = 4 : i64, tile.shared_bytes = 16384 : i64} {
  func.func @stored_to_rows_of_heads(%o: !tile.view<4xbf16>, %batch: index, %head: index, %end: index, %i: index) {
    sm.roles {
      compute warps 4 registers 240 barrier 1 {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : tensor<64x128xbf16, #c>
        %s = sm.alloc {offset = 0 : i64} : !sm.shared<64x128xbf16, 128>
        sm.write %x, %s : tensor<64x128xbf16, #c>, !sm.shared<64x128xbf16, 128>
        sm.barrier warp
        %matrix = tile.slice %o[%batch, %head] : !tile.view<4xbf16> -> !tile.view<2xbf16>
        %rows = tile.rows %matrix[%c0, %end] : !tile.view<2xbf16>
        %fits = sm.fits %o at %c0, %i, %head, %batch from !sm.shared<64x128xbf16, 128> rows_of_warp 16 ends_inside : !tile.view<4xbf16>
        scf.if %fits {
          sm.tma_store %s, %rows[%i, %c0] rows_of_warp 16 : !sm.shared<64x128xbf16, 128>, !tile.view<2xbf16>
        } else {
          sm.copy_out %s, %rows[%i, %c0] [64, 128] rows_of_warp 16 : !sm.shared<64x128xbf16, 128>, !tile.view<2xbf16>
        }
      }
      load warps 1 registers 24 {
      }
    }
    return
  }
}
