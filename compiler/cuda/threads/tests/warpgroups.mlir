// RUN: tegula-opt %s --split-input-file --lower-to-threads --cse --canonicalize | FileCheck %s

// A warpgroup multiplies two blocks of 64 rows in each step of the depth. The second block begins 64 rows of 128 bytes
// further (512 units of 16 bytes), and the second step 32 bytes further.
// CHECK-LABEL: func.func @blocks_of_rows
// CHECK: %[[WARPGROUP:.*]] = arith.divui %{{.*}}, %c4_i32
// CHECK: %[[SHARE:.*]] = arith.muli %[[WARPGROUP]], %c512_i32
// CHECK: %[[A:.*]] = arith.addi %{{.*}}, %[[SHARE]]
// CHECK: %[[B:.*]] = arith.ori
// CHECK: setp.ne.b32 p, 0, 0;{{.*}}m64n16k16{{.*}}da, db, p, 1, 1, 0, 0;{{.*}} %[[A]], %[[B]] :
// CHECK: %[[SECOND:.*]] = arith.addi %[[A]], %c512_i32
// CHECK: setp.ne.b32 p, 0, 0;{{.*}} %[[SECOND]], %[[B]] :
// CHECK: %[[STEP:.*]] = arith.addi %[[A]], %c2_i32
// CHECK: setp.ne.b32 p, 1, 0;{{.*}}, %[[STEP]],
// CHECK: %[[LAST:.*]] = arith.addi %[[A]], %c514_i32
// CHECK: setp.ne.b32 p, 1, 0;{{.*}}, %[[LAST]],
// CHECK: wgmma.commit_group
#two = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8, 0:2:64], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
module attributes {tile.num_warps = 4 : i64} {
func.func @blocks_of_rows() {
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<128x64xbf16, 128>
  %b = sm.alloc {offset = 16384 : i64} : !sm.shared<16x64xbf16, 128>
  %f = sm.wgmma %a, %b depth 32 {transpose_rhs} : !sm.shared<128x64xbf16, 128>, !sm.shared<16x64xbf16, 128>
    -> !sm.inflight<tensor<128x16xf32, #two>>
  %0 = sm.await %f : !sm.inflight<tensor<128x16xf32, #two>>
  return
}
}

// -----

// Two warpgroups divide the columns. The second one begins a panel of 64 columns further in the right operand (32 rows
// of 128 bytes), and both read the whole left operand, which is stored by its depth.
// CHECK-LABEL: func.func @transposed_and_split
// CHECK: %[[WARPGROUP:.*]] = arith.divui %{{.*}}, %c4_i32
// CHECK: %[[A:.*]] = arith.ori
// CHECK: %[[SHARE:.*]] = arith.muli %[[WARPGROUP]], %c256_i32
// CHECK: %[[B:.*]] = arith.addi %{{.*}}, %[[SHARE]]
// CHECK: m64n64k16{{.*}}da, db, p, 1, 1, 1, 1;{{.*}} %[[A]], %[[B]] :
// CHECK: %[[STEP_A:.*]] = arith.addi %[[A]], %c128_i32
// CHECK: %[[STEP_B:.*]] = arith.addi %[[B]], %c128_i32
// CHECK: m64n64k16{{.*}} %[[STEP_A]], %[[STEP_B]] :
#columns = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16, 1:2:64]>
module attributes {tile.num_warps = 8 : i64} {
func.func @transposed_and_split() {
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<32x64xbf16, 128>
  %b = sm.alloc {offset = 4096 : i64} : !sm.shared<32x128xbf16, 128>
  %f = sm.wgmma %a, %b depth 32 {transpose_lhs} : !sm.shared<32x64xbf16, 128>, !sm.shared<32x128xbf16, 128>
    -> !sm.inflight<tensor<64x128xf32, #columns>>
  %0 = sm.await %f : !sm.inflight<tensor<64x128xf32, #columns>>
  return
}
}

// -----

// One fence is enough for two MMAs that start together. The third MMA has its own, because its operand was packed after
// the first fence. So has the last one, because the wait before it is a branch.
// CHECK-LABEL: func.func @one_fence
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: wgmma.fence
// CHECK: da, db, p, 1, 1, 0, 1;
// CHECK: wgmma.commit_group
// CHECK-NOT: wgmma.fence
// CHECK: }, db, p, 1, 1, 1;
// CHECK: wgmma.commit_group
// CHECK: wgmma.fence
// CHECK: }, db, p, 1, 1, 1;
// CHECK: wgmma.commit_group
// CHECK: mbarrier.try_wait
// CHECK: wgmma.fence
// CHECK: da, db, p, 1, 1, 0, 1;
#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#words = #sm.layout<registers = [0:2:8, 1:8:4], lanes = [1:4:1, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>
!sums = !sm.inflight<tensor<64x64xf32, #c>>
module attributes {tile.arch = 90 : i64, tile.num_warps = 4 : i64, tile.producer_warps = 4 : i64} {
func.func @one_fence() {
  %a = sm.alloc {offset = 0 : i64} : !tile
  %ring = sm.alloc {offset = 8192 : i64} : !sm.shared<1x64x64xbf16, 128>
  %channel = sm.channel %ring {offset = 16384 : i64} : !sm.channel<1, !tile>
  sm.roles producer 24 {
  } consumer 240 {
    %zero = arith.constant 0 : i32
    %f = sm.wgmma %a, %a depth 16 : !tile, !tile -> !sums
    %s = sm.await %f : !sums
    %p = arith.truncf %s : tensor<64x64xf32, #c> to tensor<64x64xbf16, #c>
    %early = sm.pack %p : tensor<64x64xbf16, #c> -> tensor<64x32xi32, #words>
    %f0 = sm.wgmma %a, %a depth 16 : !tile, !tile -> !sums
    %f1 = sm.wgmma %early, %a depth 16 : tensor<64x32xi32, #words>, !tile -> !sums
    %twice = arith.addf %s, %s : tensor<64x64xf32, #c>
    %p2 = arith.truncf %twice : tensor<64x64xf32, #c> to tensor<64x64xbf16, #c>
    %late = sm.pack %p2 : tensor<64x64xbf16, #c> -> tensor<64x32xi32, #words>
    %f2 = sm.wgmma %late, %a depth 16 : tensor<64x32xi32, #words>, !tile -> !sums
    %k = sm.consumer_wait %channel[%zero] phase %zero : !sm.channel<1, !tile>
    %f3 = sm.wgmma %a, %k depth 16 : !tile, !tile -> !sums
    %0 = sm.await %f0 pending 3 : !sums
    %1 = sm.await %f1 pending 2 : !sums
    %2 = sm.await %f2 pending 1 : !sums
    %3 = sm.await %f3 pending 0 : !sums
  }
  return
}
}
