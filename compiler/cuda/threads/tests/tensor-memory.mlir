// RUN: tegula-opt %s --lower-to-threads --cse | FileCheck %s

#rows = #sm.layout<registers = [1:64:1], lanes = [0:32:1], warps = [0:4:32]>

// One warp allocates two slots of 64 columns, and all warps read the address after a barrier. One lane of the role mma
// starts four steps of 16: the first one overwrites the accumulators of the slot unless there are earlier ones. The
// operands become free when the products are over, and so do the accumulators become full. A warp loads its 32 lanes,
// 32 columns at once, and fences stand where threads meet.
// CHECK-LABEL: func.func @product(
// CHECK: scf.if
// CHECK: tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [$0], 128;
// CHECK: tcgen05.relinquish_alloc_permit
// CHECK: nvvm.barrier0
// CHECK-NEXT: llvm.inline_asm {{.*}}ld.shared.b32
// CHECK: setmaxnreg.dec
// CHECK: cp.async.bulk.tensor
// CHECK: tcgen05.fence::after_thread_sync
// CHECK: mbarrier.try_wait.parity
// CHECK: mbarrier.try_wait.parity
// CHECK: tcgen05.mma.cta_group::1.kind::f16 [$0], da, db, what, $3;{{.*}} %[[MORE:[^ ,]*]] :
// CHECK-COUNT-3: tcgen05.mma.cta_group::1.kind::f16 [$0], da, db, what, $3;{{.*}} %true
// CHECK-NOT: tcgen05.mma
// CHECK-COUNT-3: tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64
// CHECK: setmaxnreg.inc
// CHECK: mbarrier.try_wait.parity
// CHECK: tcgen05.fence::after_thread_sync
// CHECK: scf.if
// CHECK-COUNT-2: tcgen05.ld.sync.aligned.32x32b.x32.b32 {$0, {{.*}}$31}, [$32];{{.*}}tcgen05.wait::ld.sync.aligned;
// CHECK: tcgen05.fence::before_thread_sync
// CHECK: @$0 mbarrier.arrive
// CHECK: scf.if
// CHECK: tcgen05.fence::after_thread_sync
// CHECK: tcgen05.dealloc.cta_group::1.sync.aligned.b32 $0, 128;
module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 49152 : i64} {
  func.func @product(%a: !tile.view<2xbf16>, %y: !tile.view<2xf32>, %more: i1) {
    %c0 = arith.constant 0 : index
    %i = arith.constant 1 : i32
    %ra = sm.alloc {offset = 0 : i64} : !sm.shared<2x128x64xbf16, 128>
    %rb = sm.alloc {offset = 32768 : i64} : !sm.shared<2x64x64xbf16, 128>
    %sums = sm.tensor_alloc : !sm.tensor_memory<2, 128, 64>
    %full = sm.channel from mma to [compute] : !sm.channel<2>
    %ca = sm.channel %ra from load to [mma] : !sm.channel<2, !sm.shared<128x64xbf16, 128>>
    %cb = sm.channel %rb from load to [mma] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    sm.roles {
      compute warps 4 registers 232 barrier 1 {
        sm.wait_full %full[%i] phase %i : !sm.channel<2>
        %c = sm.tensor_read %sums[%i] written %more : !sm.tensor_memory<2, 128, 64> -> tensor<128x64xf32, #rows>
        sm.release %full[%i] per_warp : !sm.channel<2>
        tile.store %c, %y[%c0, %c0] : tensor<128x64xf32, #rows>, !tile.view<2xf32>
        sm.tensor_free %sums : !sm.tensor_memory<2, 128, 64>
      }
      mma warps 1 registers 40 {
        sm.elect {
          sm.producer_acquire %full[%i] phase %i : !sm.channel<2>
          %ta = sm.consumer_wait %ca[%i] phase %i : !sm.channel<2, !sm.shared<128x64xbf16, 128>>
          %tb = sm.consumer_wait %cb[%i] phase %i : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
          sm.tcgen05 %ta, %tb depth 64 into %sums[%i] accumulates %more {transpose_rhs}
            : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, !sm.tensor_memory<2, 128, 64>
          sm.release %ca[%i] per_warp after_products : !sm.channel<2, !sm.shared<128x64xbf16, 128>>
          sm.release %cb[%i] per_warp after_products : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
          sm.producer_commit %full[%i] after_products : !sm.channel<2>
        }
      }
      load warps 1 registers 40 {
        sm.elect {
          sm.producer_load %a[%c0, %c0] [128, 64], %ca[%i] phase %i
            : !tile.view<2xbf16>, !sm.channel<2, !sm.shared<128x64xbf16, 128>>
          sm.producer_load %a[%c0, %c0] [64, 64], %cb[%i] phase %i
            : !tile.view<2xbf16>, !sm.channel<2, !sm.shared<64x64xbf16, 128>>
        }
      }
    }
    return
  }
}
