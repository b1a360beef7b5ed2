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

// An MMA has a fence if it says so. Before the fence, the accumulators of the MMAs that start together get registers of
// their own: all accumulators of a thread would be one constant.
// CHECK-LABEL: func.func @fenced
// CHECK-COUNT-14: mov.b32 $0, $1;
// CHECK-NOT: mov.b32 $0, $1;
// CHECK: wgmma.fence
// CHECK: da, db, p, 1, 1, 0, 1;
// CHECK: wgmma.commit_group
// CHECK-NOT: mov.b32 $0, $1;
// CHECK-NOT: wgmma.fence
// CHECK: da, db, p, 1, 1, 0, 1;
// CHECK: wgmma.commit_group
#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>
!sums = !sm.inflight<tensor<64x16xf32, #c>>
module attributes {tile.arch = 90 : i64, tile.num_warps = 4 : i64} {
func.func @fenced() {
  %a = sm.alloc {offset = 0 : i64} : !tile
  %zero = arith.constant dense<0.0> : tensor<64x16xf32, #c>
  %one = arith.constant dense<1.0> : tensor<64x16xf32, #c>
  %f = sm.wgmma %a, %a depth 16 acc %zero {fenced} : !tile, !tile, tensor<64x16xf32, #c> -> !sums
  %g = sm.wgmma %a, %a depth 16 acc %one : !tile, !tile, tensor<64x16xf32, #c> -> !sums
  %0 = sm.await %f pending 1 : !sums
  %1 = sm.await %g pending 0 : !sums
  return
}
}

// -----

// Elements of e4m3 have a depth of 32, and no operand is transposed.
// CHECK-LABEL: func.func @e4m3
// CHECK: wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e4m3 {{.*}}, da, db, p, 1, 1;
// CHECK-COUNT-3: m64n32k32
#e4m3 = #sm.layout<registers = [1:2:1, 0:2:8, 1:4:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
module attributes {tile.num_warps = 4 : i64} {
func.func @e4m3() {
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<64x128xf8E4M3FN, 128>
  %b = sm.alloc {offset = 8192 : i64} : !sm.shared<32x128xf8E4M3FN, 128>
  %f = sm.wgmma %a, %b depth 128 {transpose_rhs} : !sm.shared<64x128xf8E4M3FN, 128>, !sm.shared<32x128xf8E4M3FN, 128>
    -> !sm.inflight<tensor<64x32xf32, #e4m3>>
  %0 = sm.await %f : !sm.inflight<tensor<64x32xf32, #e4m3>>
  return
}
}

// -----

// Elements of f32 have a depth of 8, and no operand is transposed.
// CHECK-LABEL: func.func @tf32
// CHECK: wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32 {{.*}}, da, db, p, 1, 1;
// CHECK-COUNT-3: m64n32k8
#tf32 = #sm.layout<registers = [1:2:1, 0:2:8, 1:4:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
module attributes {tile.num_warps = 4 : i64} {
func.func @tf32() {
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<64x32xf32, 128>
  %b = sm.alloc {offset = 8192 : i64} : !sm.shared<32x32xf32, 128>
  %f = sm.wgmma %a, %b depth 32 {transpose_rhs} : !sm.shared<64x32xf32, 128>, !sm.shared<32x32xf32, 128>
    -> !sm.inflight<tensor<64x32xf32, #tf32>>
  %0 = sm.await %f : !sm.inflight<tensor<64x32xf32, #tf32>>
  return
}
}
