// RUN: tegula-opt %s --print-accesses --split-input-file --verify-diagnostics
// What passes know about each op that touches memory or orders accesses.

func.func @tensors(%v: !tile.view<2xf32> {tile.written}, %counter: !tile.view<1xi32>, %where: tensor<8xi32>, %x: tensor<8x8xf32>,
                   %y: tensor<8xf32>, %i: index, %n: i32, %c: tensor<8x8xi1>) {
  // expected-remark @+1 {{reads operand 0 by lanes}}
  %0 = tile.load %v[%i, %i] : !tile.view<2xf32> -> tensor<8x8xf32>
  // expected-remark @+1 {{writes operand 1 by lanes}}
  tile.store %0, %v[%i, %i] : tensor<8x8xf32>, !tile.view<2xf32>
  // expected-remark @+1 {{adds to operand 1 by lanes}}
  tile.atomic_add %x, %v[%i, %i] : tensor<8x8xf32>, !tile.view<2xf32>
  // expected-remark @+1 {{adds to operand 1 by lanes; adds to operand 5 by lanes; waits for its role}}
  tile.atomic_add %x, %v[%i, %i] turn %n of %counter[%i] next %n : tensor<8x8xf32>, !tile.view<2xf32>, !tile.view<1xi32>
  // expected-remark @+1 {{adds to operand 0 by lanes}}
  sm.wait_memory_turn %counter[%i] until %n : !tile.view<1xi32>
  // expected-remark @+1 {{adds to operand 0 by lanes}}
  %now = sm.read_memory_turn %counter[%i] : !tile.view<1xi32>
  // expected-remark @+1 {{adds to operand 0 by lanes}}
  sm.pass_memory_turn %counter[%i] next %n : !tile.view<1xi32>
  // expected-remark @+1 {{reads operand 0 by lanes}}
  %1 = tile.gather %v[%where, %where] : !tile.view<2xf32>, tensor<8xi32>, tensor<8xi32> -> tensor<8xf32>
  // expected-remark @+1 {{writes operand 1 by lanes}}
  tile.scatter %y, %v[%where, %where] : tensor<8xf32>, !tile.view<2xf32>, tensor<8xi32>, tensor<8xi32>
  // expected-remark @+1 {{writes operand 1 by lanes}}
  tile.store %0, %v[%i, %i] where %c : tensor<8x8xf32>, !tile.view<2xf32>, tensor<8x8xi1>
  // expected-remark @+1 {{adds to operand 1 by lanes}}
  tile.scatter_add %y, %v[%where, %where] : tensor<8xf32>, !tile.view<2xf32>, tensor<8xi32>, tensor<8xi32>
  // expected-remark @+1 {{adds to operand 0 by lanes; waits for its role}}
  %last = tile.arrive %counter[%i] of %n : !tile.view<1xi32>
  // expected-remark @+1 {{adds to operand 0 by lanes; waits for its role}}
  %2 = tile.next_work %counter : !tile.view<1xi32>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

func.func @shared(%v: !tile.view<2xbf16>, %x: tensor<64x64xbf16, #c>, %i: index) {
  %a = sm.alloc : !sm.shared<64x64xbf16, 128>
  // expected-remark @+1 {{reads operand 0 by lanes}}
  %0 = sm.load_shared %v[%i, %i] [64, 64] : !tile.view<2xbf16> -> !sm.shared<64x64xbf16, 128>
  // expected-remark @+1 {{reads operand 0 by cp.async; writes operand 3 by cp.async}}
  sm.copy_in %v[%i, %i] [64, 64], %a : !tile.view<2xbf16>, !sm.shared<64x64xbf16, 128>
  %copies = sm.commit
  // expected-remark @+1 {{ends accesses of cp.async}}
  sm.wait %copies
  // expected-remark @+1 {{waits for its role}}
  sm.barrier
  // expected-remark @+1 {{waits for its warp}}
  sm.barrier warp
  // expected-remark @+1 {{writes operand 1 by lanes}}
  sm.write %x, %a : tensor<64x64xbf16, #c>, !sm.shared<64x64xbf16, 128>
  // expected-remark @+1 {{reads operand 0 by lanes}}
  %1 = sm.read %a : !sm.shared<64x64xbf16, 128> -> tensor<64x64xbf16, #c>
  // expected-remark @+1 {{reads operand 0 by lanes; writes operand 1 by lanes}}
  sm.copy_out %a, %v[%i, %i] [64, 64] : !sm.shared<64x64xbf16, 128>, !tile.view<2xbf16>
  // expected-remark @+1 {{reads operand 0 by lanes; reads operand 1 by lanes}}
  %2 = sm.mma %a, %0 depth 64 : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> tensor<64x64xf32, #c>
  // expected-remark @+1 {{reads operand 0 by tensor cores; reads operand 1 by tensor cores}}
  %f = sm.wgmma %a, %0 depth 64 : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>
    -> !sm.inflight<tensor<64x64xf32, #c>>
  // expected-remark @+1 {{ends accesses of tensor cores}}
  %3 = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
  // expected-remark @+1 {{fences the asynchronous proxy}}
  sm.proxy_fence
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

module attributes {tile.num_warps = 4 : i64} {
  func.func @roles(%v: !tile.view<2xbf16>, %counter: !tile.view<1xi32>, %i: index, %dq: !tile.view<2xf32>,
                   %sums: tensor<64x64xf32, #c>) {
    %zero = arith.constant 0 : i32
    %buffer = sm.alloc : !sm.shared<64x64xf32, 128>
    %ready = sm.alloc : !sm.shared<64x64xbf16, 128>
    %ring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    %b = sm.channel %ring from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    %work = sm.channel from load to [compute] : !sm.channel<2>
    %slot = sm.alloc : !sm.shared<1x64x64xf32, 128>
    %handed = sm.channel %slot from compute to [add] by_barriers words 2 : !sm.channel<1, !sm.shared<64x64xf32, 128>>
    %stored = sm.channel %ring from compute to [compute] per_warpgroup : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    sm.roles {
      compute warps 4 registers 232 {
        // expected-remark @+1 {{ends accesses of TMA}}
        %t = sm.consumer_wait %b[%zero] phase %zero : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
        // expected-remark @+1 {{writes operand 0 by lanes, ordered by mbarriers; reads operand 1 by lanes}}
        sm.fallback_copy %t, %v[%i, %i] [64, 64] rows_of_warp 16 : !sm.shared<64x64xbf16, 128>, !tile.view<2xbf16>
        // expected-remark @+1 {{writes operand 1 by lanes}}
        sm.write %sums, %buffer staggered : tensor<64x64xf32, #c>, !sm.shared<64x64xf32, 128>
        // expected-remark @+1 {{reads operand 0 by TMA; adds to operand 1 by TMA}}
        sm.tma_add %buffer layout #c, %dq at %zero, %zero : !sm.shared<64x64xf32, 128>, !tile.view<2xf32>
        // expected-remark @+1 {{reads operand 0 by lanes}}
        %x = sm.read %t : !sm.shared<64x64xbf16, 128> -> tensor<64x64xbf16, #c>
        // expected-remark @+1 {{reads operand 0 by TMA; writes operand 1 by TMA}}
        sm.tma_store %ready, %v[%i, %i] rows_of_warp 16 : !sm.shared<64x64xbf16, 128>, !tile.view<2xbf16>
        // expected-remark @+1 {{ends accesses of TMA}}
        sm.tma_store_wait %ready : !sm.shared<64x64xbf16, 128>
        sm.release %b[%zero] per_warp : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
        // expected-remark @+1 {{writes operand 1 by lanes, ordered by mbarriers}}
        sm.producer_store %x, %stored[%zero] phase %zero : tensor<64x64xbf16, #c>, !sm.channel<2, !sm.shared<64x64xbf16, 128>>
        // expected-remark @+1 {{writes operand 1 by lanes, ordered by mbarriers}}
        sm.producer_store %sums, %handed[%zero] phase %zero words(%zero, %zero) staggered
          : tensor<64x64xf32, #c>, !sm.channel<1, !sm.shared<64x64xf32, 128>>
        sm.close %handed : !sm.channel<1, !sm.shared<64x64xf32, 128>>
      }
      load warps 1 registers 40 {
        // expected-remark @+1 {{adds to operand 0 by lanes}}
        %n = sm.produce_work %counter, %work[%zero] phase %zero : !tile.view<1xi32>, !sm.channel<2>
        // expected-remark @+1 {{reads operand 0 by TMA; writes operand 3 by TMA, ordered by mbarriers}}
        sm.producer_load %v[%i, %i] [64, 64], %b[%zero] phase %zero tma_only : !tile.view<2xbf16>, !sm.channel<2, !sm.shared<64x64xbf16, 128>>
      }
      add warps 1 registers 40 {
        %open = sm.next %handed : !sm.channel<1, !sm.shared<64x64xf32, 128>>
        // expected-remark @+1 {{ends accesses of TMA}}
        %t = sm.consumer_wait %handed[%zero] phase %zero already_full : !sm.channel<1, !sm.shared<64x64xf32, 128>>
        %w:2 = sm.words %handed : !sm.channel<1, !sm.shared<64x64xf32, 128>> -> i32, i32
        // expected-remark @+1 {{fences the asynchronous proxy}}
        sm.proxy_fence tensors
        // expected-remark @+1 {{reads operand 0 by TMA; adds to operand 1 by TMA}}
        sm.tma_add %t layout #c, %dq at %w#0, %w#1 : !sm.shared<64x64xf32, 128>, !tile.view<2xf32>
        // expected-remark @+1 {{ends accesses of TMA}}
        sm.tma_store_wait written
      }
    }
    return
  }
}
