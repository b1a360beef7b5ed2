// RUN: tegula-opt --print-accesses --verify-diagnostics %s
// Each phrase of the pass. compiler/sm/tests/accesses.mlir has the accesses of each op.

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!ch = !sm.channel<2, !t>

module attributes {tile.num_warps = 4 : i64} {
  func.func @phrases(%v: !tile.view<2xbf16>, %dq: !tile.view<2xf32>, %turns: !tile.view<1xi32>, %x: tensor<64x64xf32, #c>,
                     %i: index, %n: i32, %is: i1, %ring: !sm.shared<2x64x64xbf16, 128>, %buffer: !sm.shared<64x64xf32, 128>) {
    %a = sm.alloc : !t
    %k = sm.channel %ring from load to [compute] : !ch
    // Ops in regions are visited, those that only compute are not mentioned.
    scf.if %is {
      %y = math.exp2 %x : tensor<64x64xf32, #c>
      // expected-remark @+1 {{reads operand 0 by cp.async; writes operand 3 by cp.async}}
      sm.copy_in %v[%i, %i] [64, 64], %a : !tile.view<2xbf16>, !t
      %copies = sm.commit
      // expected-remark @+1 {{ends accesses of cp.async}}
      sm.wait %copies
    }
    // expected-remark @+1 {{waits for its role}}
    sm.barrier
    // expected-remark @+1 {{waits for its warp}}
    sm.barrier warp
    // expected-remark @+1 {{fences the asynchronous proxy}}
    sm.proxy_fence
    // expected-remark @+1 {{adds to operand 1 by lanes; adds to operand 5 by lanes; waits for its role}}
    tile.atomic_add %x, %dq[%i, %i] turn %n of %turns[%i] next %n
      : tensor<64x64xf32, #c>, !tile.view<2xf32>, !tile.view<1xi32>
    sm.roles {
      compute warps 4 registers 232 {
        // expected-remark @+1 {{ends accesses of TMA}}
        %s = sm.consumer_wait %k[%n] phase %n : !ch
        // expected-remark @+1 {{reads operand 0 by tensor cores; reads operand 1 by tensor cores}}
        %f = sm.wgmma %s, %s depth 64 : !t, !t -> !sm.inflight<tensor<64x64xf32, #c>>
        // expected-remark @+1 {{ends accesses of tensor cores}}
        %z = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
        // expected-remark @+1 {{writes operand 0 by lanes, ordered by mbarriers; reads operand 1 by lanes}}
        sm.fallback_copy %s, %v[%i, %i] [64, 64] rows_of_warp 16 : !t, !tile.view<2xbf16>
        // expected-remark @+1 {{reads operand 0 by TMA; adds to operand 1 by TMA}}
        sm.tma_add %buffer layout #c, %dq at %n, %n : !sm.shared<64x64xf32, 128>, !tile.view<2xf32>
      }
      load warps 1 registers 40 {
        // expected-remark @+1 {{reads operand 0 by TMA; writes operand 3 by TMA, ordered by mbarriers}}
        sm.producer_load %v[%i, %i] [64, 64], %k[%n] phase %n : !tile.view<2xbf16>, !ch
      }
    }
    return
  }
}
