// RUN: tegula-opt --print-role-traces --verify-diagnostics --split-input-file %s

!tile = !sm.shared<64x64xbf16, 128>
!two = !sm.channel<2, !tile>

// Three tiles pass through two slots. A remark has the steps of a role, each with its slot and phase.
func.func @three_tiles(%x: !tile.view<2xbf16>, %r: !sm.shared<2x64x64xbf16, 128>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c192 = arith.constant 192 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %k = sm.channel %r from load to [compute] : !two
  sm.roles {
    compute warps 4 registers 232 {
      %end:2 = scf.for %j = %c0 to %c192 step %c64 iter_args(%slot = %zero, %phase = %zero) -> (i32, i32) {
        // expected-remark @+1 {{0 waits for full 0.0, 2 waits for full 1.0, 4 waits for full 0.1}}
        %a = sm.consumer_wait %k[%slot] phase %phase : !two
        // expected-remark @+1 {{1 releases 0.0, 3 releases 1.0, 5 releases 0.0}}
        sm.release %k[%slot] per_warp : !two
        %next = arith.xori %slot, %one : i32
        %flipped = arith.xori %phase, %slot : i32
        scf.yield %next, %flipped : i32, i32
      }
    }
    load warps 1 registers 40 {
      %end:2 = scf.for %j = %c0 to %c192 step %c64 iter_args(%slot = %zero, %phase = %zero) -> (i32, i32) {
        // expected-remark @+1 {{0 waits for empty 0.0, 1 fills 0.0, 2 waits for empty 1.0, 3 fills 1.0, 4 waits for empty 0.1, 5 fills 0.1}}
        sm.producer_load %x[%j, %c0] [64, 64], %k[%slot] phase %phase : !tile.view<2xbf16>, !two
        %next = arith.xori %slot, %one : i32
        %flipped = arith.xori %phase, %slot : i32
        scf.yield %next, %flipped : i32, i32
      }
    }
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!one = !sm.channel<1, !sm.shared<64x64xf32, 128>>

// A channel by_barriers is closed after its tiles. Warpgroups that take turns pass them on.
func.func @a_tile_and_a_turn(%r: !sm.shared<1x64x64xf32, 128>, %x: tensor<64x64xf32, #c>) {
  %zero = arith.constant 0 : i32
  %k = sm.channel %r from compute to [add] by_barriers words 0 : !one
  sm.roles {
    compute warps 4 registers 232 {
      sm.sequence_init
      // expected-remark @+1 {{0 takes a turn}}
      sm.sequence_wait
      // expected-remark @+1 {{1 passes a turn}}
      sm.sequence_arrive
      // expected-remark @+1 {{2 waits for empty 0.0, 3 stores 0.0}}
      sm.producer_store %x, %k[%zero] phase %zero staggered : tensor<64x64xf32, #c>, !one
      // expected-remark @+1 {{4 waits for empty 0.0, 5 closes 0.0}}
      sm.close %k : !one
    }
    add warps 1 registers 40 {
      // expected-remark @+1 {{0 releases 0.0}}
      sm.release %k[%zero] per_warp : !one
      // expected-remark @+1 {{1 waits for the next 0.0}}
      %open = sm.next %k : !one
    }
  }
  return
}

// -----

!tile = !sm.shared<64x64xbf16, 128>
!ring = !sm.channel<2, !tile, !tile, !tile>
!buffer = !sm.shared<2x64x64xbf16, 128>

// The load of the first part waits for the slot, that of the last part makes it full.
func.func @parts(%x: !tile.view<2xbf16>, %i: index, %r: !buffer, %s: !buffer, %t: !buffer) {
  %zero = arith.constant 0 : i32
  %k = sm.channel %r, %s, %t from load to [compute] : !ring
  sm.roles {
    compute warps 4 registers 232 {
      // expected-remark @+1 {{0 waits for full 0.0}}
      %a, %b, %c = sm.consumer_wait %k[%zero] phase %zero : !ring
      // expected-remark @+1 {{1 releases 0.0}}
      sm.release %k[%zero] per_warp : !ring
    }
    load warps 1 registers 40 {
      // expected-remark @+1 {{0 waits for empty 0.0}}
      sm.producer_load %x[%i, %i] [64, 64], %k[%zero] phase %zero : !tile.view<2xbf16>, !ring
      sm.producer_load %x[%i, %i] [64, 64], %k[%zero] phase %zero part 1 : !tile.view<2xbf16>, !ring
      // expected-remark @+1 {{1 fills 0.0}}
      sm.producer_load %x[%i, %i] [64, 64], %k[%zero] phase %zero part 2 : !tile.view<2xbf16>, !ring
    }
  }
  return
}
