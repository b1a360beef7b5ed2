// RUN: tegula-opt --print-loop-graph --verify-diagnostics --split-input-file %s

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>
#words = #sm.layout<registers = [0:2:8, 1:8:4], lanes = [1:4:1, 0:8:1], warps = [0:8:16]>
!k = !sm.channel<2, !sm.shared<64x64xbf16, 128>>
!f = !sm.inflight<tensor<128x64xf32, #c>>

// The second MMA works for the iteration before, and so do the wait for its tile and the release of its slot. It needs
// its left operand from there. A comparison with the first iteration is constant in the others.
func.func @a_late_product(%n: index, %q: !sm.shared<128x64xbf16, 128>, %none: tensor<128x64xf32, #c>, %p: i32, %at: i32) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %kring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
  %ks = sm.channel %kring from load to [compute] : !k
  %vring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
  %vs = sm.channel %vring from load to [compute] : !k
  sm.roles {
    compute warps 8 registers 232 {
      // expected-remark @+1 {{starts MMAs 1, 8; hands over 2 values}}
      %r = scf.for %j = %c0 to %n step %c64 iter_args(%o = %none) -> (tensor<128x64xf32, #c>) {
        // expected-remark @+1 {{op 0: after nothing}}
        %k = sm.consumer_wait %ks[%at] phase %p : !k
        // expected-remark @+1 {{op 1: after 0}}
        %f = sm.wgmma %q, %k depth 64 {transpose_rhs} : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !f
        // expected-remark @+1 {{op 2: after 1}}
        %s = sm.await %f : !f
        // expected-remark @+1 {{op 3: after 2}}
        sm.release %ks[%at] : !k
        // expected-remark @+1 {{op 4, late: after nothing}}
        %v = sm.consumer_wait %vs[%at] phase %p : !k
        // expected-remark @+1 {{op 5, constant in later iterations: after nothing}}
        %later = arith.cmpi ne, %j, %c0 : index
        // expected-remark @+1 {{op 6: after 2, 9}}
        %x = arith.truncf %s : tensor<128x64xf32, #c> to tensor<128x64xbf16, #c>
        // expected-remark @+1 {{op 7: after 6, 9}}
        %words = sm.pack %x : tensor<128x64xbf16, #c> -> tensor<128x32xi32, #words>
        // expected-remark @+1 {{op 8, late: after 4}}
        %g = sm.wgmma %words, %v depth 64 acc %o
          : tensor<128x32xi32, #words>, !sm.shared<64x64xbf16, 128>, tensor<128x64xf32, #c> -> !f
        // expected-remark @+1 {{op 9, late: after 8}}
        %next = sm.await %g : !f
        // expected-remark @+1 {{op 10, late: after 9}}
        sm.release %vs[%at] : !k
        scf.yield %next : tensor<128x64xf32, #c>
      } {tile.steps = "p0 p1@1"}
    }
    load warps 1 registers 32 {
    }
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!b = !sm.channel<2, !t>
!f = !sm.inflight<tensor<64x64xf32, #c>>

// Lanes read a slot. Its release waits for the fence after the read.
func.func @a_tile_for_registers(%q: !t, %slot: i32, %bias: !tile.view<2xbf16>, %n: index, %one: index) {
  %ring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
  %biases = sm.channel %ring from load to [compute] : !b
  sm.roles {
    compute warps 4 registers 232 {
      // expected-remark @+1 {{starts MMAs 0; hands over 0 values}}
      scf.for %i = %one to %n step %one {
        // expected-remark @+1 {{op 0: after nothing}}
        %s = sm.wgmma %q, %q depth 64 {transpose_rhs} : !t, !t -> !f
        // expected-remark @+1 {{op 1: after 0}}
        %scores = sm.await %s : !f
        // expected-remark @+1 {{op 2: after nothing}}
        %tile = sm.consumer_wait %biases[%slot] phase %slot : !b
        // expected-remark @+1 {{op 3: after 2}}
        %loaded = sm.is_loaded %tile, %bias[%i, %i] : !t, !tile.view<2xbf16>
        // expected-remark @+1 {{op 4: after 2, 3}}
        scf.if %loaded {
        } else {
          sm.fallback_copy %tile, %bias[%i, %i] [64, 64] rows_of_warp 16 : !t, !tile.view<2xbf16>
        }
        // expected-remark @+1 {{op 5: after 2, 4}}
        %x = sm.read %tile : !t -> tensor<64x64xbf16, #c>
        // expected-remark @+1 {{op 6: after 4, 5}}
        sm.proxy_fence
        // expected-remark @+1 {{op 7: after 3, 4, 5, 6}}
        sm.release %biases[%slot] per_warp : !b
      } {tile.steps = "p0"}
    }
    load warps 1 registers 32 {
    }
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<64x64xf32, #c>>

// The next iteration adds to the accumulators while they are in flight, so nothing is handed over. A loop that cannot run
// as its list says has no graph.
func.func @accumulators_in_flight(%q: !t, %n: index, %one: index, %none: tensor<64x64xf32, #c>) {
  sm.roles {
    compute warps 4 registers 232 {
      // expected-remark @+1 {{starts MMAs 0; hands over 0 values}}
      %r = scf.for %i = %one to %n step %one iter_args(%o = %none) -> (tensor<64x64xf32, #c>) {
        // expected-remark @+1 {{op 0: after nothing}}
        %g = sm.wgmma %q, %q depth 64 acc %o : !t, !t, tensor<64x64xf32, #c> -> !f
        // expected-remark @+1 {{op 1, late: after 0}}
        %next = sm.await %g : !f
        scf.yield %next : tensor<64x64xf32, #c>
      } {tile.steps = "p0 p0.end@1"}
      // expected-remark @+1 {{has no graph: nothing in the loop has the label 's', or any label}}
      scf.for %i = %one to %n step %one {
      } {tile.steps = "s"}
    }
    load warps 1 registers 32 {
    }
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!b = !sm.channel<2, !t>
!f = !sm.inflight<tensor<64x64xf32, #c>>

// A store for MMAs has a fence. It covers the one of a release whose slot is read for this store.
func.func @a_covered_fence(%q: !t, %slot: i32, %n: index, %one: index, %ring: !sm.shared<2x64x64xbf16, 128>) {
  %biases = sm.channel %ring from load to [compute] : !b
  %stored = sm.channel %ring from compute to [compute] per_warpgroup : !b
  sm.roles {
    compute warps 4 registers 232 {
      // expected-remark @+1 {{starts MMAs 6; hands over 0 values}}
      scf.for %i = %one to %n step %one {
        // expected-remark @+1 {{op 0: after nothing}}
        %tile = sm.consumer_wait %biases[%slot] phase %slot : !b
        // expected-remark @+1 {{op 1: after 0}}
        %x = sm.read %tile : !t -> tensor<64x64xbf16, #c>
        // expected-remark @+1 {{op 2, covered by the fence of a store: after 1}}
        sm.proxy_fence
        // expected-remark @+1 {{op 3: after 1, 2, 4}}
        sm.release %biases[%slot] per_warp : !b
        // expected-remark @+1 {{op 4: after 1}}
        sm.producer_store %x, %stored[%slot] phase %slot : tensor<64x64xbf16, #c>, !b
        // expected-remark @+1 {{op 5: after 4}}
        %k = sm.consumer_wait %stored[%slot] phase %slot : !b
        // expected-remark @+1 {{op 6: after 5}}
        %s = sm.wgmma %q, %k depth 64 {transpose_rhs} : !t, !t -> !f
        // expected-remark @+1 {{op 7: after 6}}
        %scores = sm.await %s : !f
      } {tile.steps = "p0"}
    }
    load warps 1 registers 32 {
    }
  }
  return
}
