// RUN: tegula-opt %s --lower-to-threads --cse --split-input-file | FileCheck %s

// Accumulators of m16n8: the digits of a column are a register of two, four lanes and two registers, in this order.
#acc = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// Two neighbouring columns of a thread, then two steps of a butterfly over four lanes, then columns that are 8 apart.
// CHECK-LABEL: func.func @columns_of_accumulators
// CHECK-COUNT-4: arith.addf
// CHECK: nvvm.shfl.sync{{.*}} bfly
// CHECK: arith.select
// CHECK: nvvm.shfl.sync{{.*}} bfly
// CHECK-NOT: nvvm.barrier
// CHECK: return
func.func @columns_of_accumulators(%x: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<64x16xf32, #acc>
  %s = tile.cumsum %a axis 1 : tensor<64x16xf32, #acc>
  tile.store %s, %x[%c0, %c0] : tensor<64x16xf32, #acc>, !tile.view<2xf32>
  return
}

// -----

// The rows are split among warps, which exchange their totals through shared memory between two barriers.
#acc = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// CHECK-LABEL: func.func @rows_of_several_warps
// CHECK-COUNT-3: nvvm.shfl.sync{{.*}} bfly
// CHECK: st.shared
// CHECK: nvvm.barrier
// CHECK-COUNT-4: ld.shared
// CHECK: nvvm.barrier
func.func @rows_of_several_warps(%x: !tile.view<2xi32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<2xi32> -> tensor<64x16xi32, #acc>
  %s = tile.cumsum %a axis 0 {reverse} : tensor<64x16xi32, #acc>
  tile.store %s, %x[%c0, %c0] : tensor<64x16xi32, #acc>, !tile.view<2xi32>
  return
}
