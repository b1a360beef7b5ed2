// RUN: tegula-opt %s --split-input-file --verify-diagnostics

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

func.func @product_that_no_one_waits_for(%a: !sm.shared<64x64xbf16, 128>, %b: !sm.shared<64x64xbf16, 128>) {
  // expected-error @+1 {{needs exactly one wait: what is in flight can be neither copied nor dropped}}
  %f = sm.wgmma %a, %b depth 64 : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>
    -> !sm.inflight<tensor<64x16xf32, #c>>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

func.func @product_that_is_waited_for_twice(%a: !sm.shared<64x64xbf16, 128>) {
  // expected-error @+1 {{needs exactly one wait}}
  %f = sm.wgmma %a, %a depth 64 : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>
    -> !sm.inflight<tensor<64x16xf32, #c>>
  %0 = sm.await %f : !sm.inflight<tensor<64x16xf32, #c>>
  %1 = sm.await %f : !sm.inflight<tensor<64x16xf32, #c>>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8, 0:2:16], lanes = [1:4:2, 0:8:1], warps = [0:2:32]>

func.func @product_of_two_warps(%a: !sm.shared<64x64xbf16, 128>) {
  // expected-error @+1 {{a warpgroup has blocks of 64 rows and at most 256 columns of each}}
  %f = sm.wgmma %a, %a depth 64 : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>
    -> !sm.inflight<tensor<64x16xf32, #c>>
  %0 = sm.await %f : !sm.inflight<tensor<64x16xf32, #c>>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

func.func @product_of_integers(%a: !sm.shared<64x64xi16, 128>, %b: !sm.shared<64x64xi16, 128>) {
  // expected-error @+1 {{its operands must be bf16, f16, f32 or f8E4M3FN in panels of 128 bytes}}
  %f = sm.wgmma %a, %b depth 64 : !sm.shared<64x64xi16, 128>, !sm.shared<64x64xi16, 128>
    -> !sm.inflight<tensor<64x16xf32, #c>>
  %0 = sm.await %f : !sm.inflight<tensor<64x16xf32, #c>>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

func.func @product_of_two_types(%a: !sm.shared<64x64xf16, 128>, %b: !sm.shared<64x64xbf16, 128>) {
  // expected-error @+1 {{both need one element type}}
  %f = sm.wgmma %a, %b depth 64 : !sm.shared<64x64xf16, 128>, !sm.shared<64x64xbf16, 128>
    -> !sm.inflight<tensor<64x16xf32, #c>>
  %0 = sm.await %f : !sm.inflight<tensor<64x16xf32, #c>>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

func.func @product_of_small_panels(%a: !sm.shared<64x32xbf16, 64>, %b: !sm.shared<64x64xbf16, 128>) {
  // expected-error @+1 {{its operands must be bf16, f16, f32 or f8E4M3FN in panels of 128 bytes}}
  %f = sm.wgmma %a, %b depth 32 : !sm.shared<64x32xbf16, 64>, !sm.shared<64x64xbf16, 128>
    -> !sm.inflight<tensor<64x16xf32, #c>>
  %0 = sm.await %f : !sm.inflight<tensor<64x16xf32, #c>>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

func.func @result_of_a_wait_for_reads(%f: !sm.inflight<tensor<64x16xf32, #c>>) {
  // expected-error @+1 {{'sm.await' op has a tile as its result unless it waits for reads only}}
  %0 = "sm.await"(%f) <{reads}> : (!sm.inflight<tensor<64x16xf32, #c>>) -> tensor<64x16xf32, #c>
  return
}

// -----

func.func @tile_of_a_channel_of_work(%work: !sm.channel<2>, %v: !tile.view<2xbf16>, %i: index, %s: i32) {
  sm.roles {
    compute warps 4 registers 160 {
    }
    load warps 1 registers 32 {
      // expected-error @+1 {{loads a tile to a channel of work indices}}
      sm.producer_load %v[%i, %i] [64, 64], %work[%s] phase %s : !tile.view<2xbf16>, !sm.channel<2>
    }
  }
  return
}

// -----

func.func @ring_of_another_size() {
  %ring = sm.alloc : !sm.shared<3x64x64xbf16, 128>
  // expected-error @+1 {{'sm.channel' op has a ring of '!sm.shared<3x64x64xbf16, 128>'; its tiles need '!sm.shared<2x64x64xbf16, 128>'}}
  %b = "sm.channel"(%ring) <{from = "load", to = ["compute"]}> : (!sm.shared<3x64x64xbf16, 128>) -> !sm.channel<2, !sm.shared<64x64xbf16, 128>>
  return
}

// -----

func.func @channel_without_a_ring() {
  // expected-error @+1 {{needs a ring for each part of its slots: 1, not 0}}
  %b = sm.channel from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
  return
}

// -----

func.func @work_in_a_ring(%ring: !sm.shared<2x64x64xbf16, 128>) {
  // expected-error @+1 {{needs a ring for each part of its slots: 0, not 1}}
  %b = sm.channel %ring from load to [compute] : !sm.channel<2>
  return
}

// -----

// expected-error @+1 {{a channel of 0 slots; legal are 1 and more}}
func.func @no_slots(%b: !sm.channel<0>) {
  return
}

// -----

func.func @consumer_that_feeds(%v: !tile.view<2xbf16>, %i: index, %s: i32) {
  %ring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
  %b = sm.channel %ring from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
  sm.roles {
    compute warps 4 registers 160 {
      // expected-error @+1 {{'sm.producer_load' op fills a slot in the role 'compute' of 4 warps; a role of one warp may}}
      sm.producer_load %v[%i, %i] [64, 64], %b[%s] phase %s : !tile.view<2xbf16>, !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    }
    load warps 1 registers 32 {
    }
  }
  return
}

// -----

module attributes {tile.num_warps = 4 : i64, tile.instances_per_sm = 3 : i64} {
  func.func @too_many_registers_beside_other_blocks() {
    // expected-error @+1 {{needs 21504 registers; its threads start with 20480}}
    sm.roles {
      compute warps 4 registers 136 {
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

module attributes {tile.num_warps = 12 : i64} {
  func.func @too_many_registers() {
    // expected-error @+1 {{needs 96256 registers; its threads start with 65536}}
    sm.roles {
      compute warps 12 registers 240 {
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

func.func @registers_in_odd_numbers() {
  // expected-error @+1 {{gives a thread 100 registers; legal are multiples of 8 from 24 to 256}}
  sm.roles {
    compute warps 4 registers 100 {
    }
    load warps 1 registers 24 {
    }
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

func.func @half_a_warpgroup(%a: !sm.shared<64x64xbf16, 128>) {
  // expected-error @+1 {{gives the role 'compute' 2 warps; its MMAs need whole warpgroups of 4}}
  sm.roles {
    compute warps 2 registers 96 {
      %f = sm.wgmma %a, %a depth 64 : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>
        -> !sm.inflight<tensor<64x16xf32, #c>>
      %0 = sm.await %f : !sm.inflight<tensor<64x16xf32, #c>>
    }
    load warps 1 registers 24 {
    }
  }
  return
}

// -----

func.func @equal_names() {
  // expected-error @+1 {{has two roles with the name 'load'}}
  sm.roles {
    load warps 4 registers 96 {
    }
    load warps 1 registers 24 {
    }
  }
  return
}

// -----

func.func @a_warpgroup_and_a_half() {
  // expected-error @+1 {{gives the role 'compute' 6 warps; legal are 1 to 3, and whole warpgroups of 4}}
  sm.roles {
    compute warps 6 registers 96 {
    }
  }
  return
}

// -----

func.func @no_warps() {
  // expected-error @+1 {{gives the role 'load' 0 warps; legal are 1 to 3, and whole warpgroups of 4}}
  sm.roles {
    compute warps 4 registers 96 {
    }
    load warps 0 registers 24 {
    }
  }
  return
}

// -----

func.func @no_roles() {
  // expected-error @+1 {{has one role at least}}
  sm.roles {
  }
  return
}

// -----

func.func @a_role_without_registers() {
  // expected-error @+1 {{needs a name, warps and registers for each role}}
  "sm.roles"() <{names = ["compute"], warps = array<i64: 4>, registers = array<i64>}> ({
    "sm.end"() : () -> ()
  }) : () -> ()
  return
}

// -----

func.func @three_roles_with_too_many_registers() {
  // expected-error @+1 {{needs 70656 registers; its threads start with 65536}}
  sm.roles {
    compute warps 8 registers 232 {
    }
    add warps 2 registers 48 {
    }
    load warps 1 registers 40 {
    }
  }
  return
}

// -----

func.func @a_channel_of_an_unknown_role() {
  // expected-error @+1 {{'sm.channel' op names the role 'store', which the function does not have}}
  %b = sm.channel from load to [compute, store] : !sm.channel<2>
  sm.roles {
    compute warps 4 registers 96 {
    }
    load warps 1 registers 24 {
    }
  }
  return
}

// -----

func.func @a_channel_without_roles() {
  // expected-error @+1 {{'sm.channel' op needs the roles of its function}}
  %b = sm.channel from load to [compute] : !sm.channel<2>
  return
}

// -----

func.func @two_writers(%v: !tile.view<2xbf16>, %i: index, %s: i32) {
  %ring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
  %b = sm.channel %ring from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
  sm.roles {
    compute warps 4 registers 96 {
    }
    load warps 1 registers 24 {
      sm.producer_load %v[%i, %i] [64, 64], %b[%s] phase %s : !tile.view<2xbf16>, !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    }
    other warps 1 registers 24 {
      // expected-error @+1 {{fills a slot in the role 'other'; the channel is filled by 'load'}}
      sm.producer_load %v[%i, %i] [64, 64], %b[%s] phase %s : !tile.view<2xbf16>, !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    }
  }
  return
}

// -----

func.func @another_reader(%s: i32) {
  %ring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
  %b = sm.channel %ring from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
  sm.roles {
    compute warps 4 registers 96 {
    }
    load warps 1 registers 24 {
      // expected-error @+1 {{reads a slot in the role 'load', which the channel does not go to}}
      %t = sm.consumer_wait %b[%s] phase %s : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    }
  }
  return
}

// -----

func.func @one_release_for_no_warpgroup(%s: i32) {
  %ring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
  %b = sm.channel %ring from load to [store] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
  sm.roles {
    store warps 2 registers 96 {
      // expected-error @+1 {{needs per_warp in the role 'store', which has no whole warpgroup}}
      sm.release %b[%s] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    }
    load warps 1 registers 24 {
    }
  }
  return
}

// -----

func.func @work_after_the_roles() {
  // expected-error @+1 {{must be the last op of its function, except for the return}}
  sm.roles {
    compute warps 4 registers 96 {
    }
    load warps 1 registers 24 {
    }
  }
  sm.barrier
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

func.func @product_of_loose_elements(%p: tensor<64x16xbf16, #c>, %b: !sm.shared<64x64xbf16, 128>) {
  // expected-error @+1 {{in registers; a left operand in registers is packed, two 16-bit elements in an i32}}
  %f = sm.wgmma %p, %b depth 16 : tensor<64x16xbf16, #c>, !sm.shared<64x64xbf16, 128>
    -> !sm.inflight<tensor<64x16xf32, #c>>
  %0 = sm.await %f : !sm.inflight<tensor<64x16xf32, #c>>
  return
}

// -----

func.func @work_of_no_producer(%counter: !tile.view<1xi32>, %b: !sm.channel<2>, %i: i32) {
  // expected-error @+1 {{'sm.produce_work' op must be in a role of 'sm.roles'}}
  %n = sm.produce_work %counter, %b[%i] phase %i : !tile.view<1xi32>, !sm.channel<2>
  return
}

// -----

func.func @work_of_nobody(%b: !sm.channel<2>, %i: i32) {
  sm.roles {
    compute warps 4 registers 240 {
      // expected-error @+1 {{waits for a work index in a channel for which no 'sm.produce_work' exists}}
      %n = sm.consume_work %b[%i] phase %i : !sm.channel<2>
    }
    load warps 1 registers 24 {
    }
  }
  return
}

// -----

module attributes {tile.num_warps = 4 : i64} {
  func.func @shared_tile_in_the_next_iteration(%n: index, %a: !sm.shared<64x64xbf16, 128>) {
    sm.roles {
      compute warps 4 registers 232 {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        // expected-error @+1 {{a shared tile crosses an iteration of this loop; no barrier or wait would protect it there}}
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> (!sm.shared<64x64xbf16, 128>) {
          scf.yield %t : !sm.shared<64x64xbf16, 128>
        }
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!f = !sm.inflight<tensor<64x16xf32, #c>>

module attributes {tile.num_warps = 4 : i64} {
  func.func @accumulators_carried_to_nobody(%n: index, %a: !sm.shared<64x64xbf16, 128>) {
    sm.roles {
      compute warps 4 registers 232 {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %f = sm.wgmma %a, %a depth 64 : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !f
        // expected-error @+1 {{an MMA in flight crosses an iteration of this loop and needs exactly one wait there}}
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %f) -> !f {
          %g = sm.wgmma %a, %a depth 64 : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !f
          sm.await reads %t : !f
          scf.yield %g : !f
        }
        %0 = sm.await %r : !f
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

module attributes {tile.num_warps = 4 : i64} {
  func.func @released_too_early(%a: !sm.shared<64x64xbf16, 128>) {
    %ring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    %b = sm.channel %ring from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    sm.roles {
      compute warps 4 registers 232 {
        %zero = arith.constant 0 : i32
        %t = sm.consumer_wait %b[%zero] phase %zero : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
        // expected-note @+1 {{the MMA is here}}
        %f = sm.wgmma %a, %t depth 64 : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>
          -> !sm.inflight<tensor<64x16xf32, #c>>
        // expected-error @+1 {{releases a slot that an MMA in flight still reads}}
        sm.release %b[%zero] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
        %0 = sm.await %f : !sm.inflight<tensor<64x16xf32, #c>>
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

module attributes {tile.num_warps = 4 : i64} {
  func.func @read_after_the_release() {
    %ring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    %b = sm.channel %ring from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    sm.roles {
      compute warps 4 registers 232 {
        %zero = arith.constant 0 : i32
        %t = sm.consumer_wait %b[%zero] phase %zero : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
        // expected-note @+1 {{the release is here}}
        sm.release %b[%zero] per_warp : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
        // expected-error @+1 {{reads a tile after its slot was released}}
        %0 = sm.read %t : !sm.shared<64x64xbf16, 128> -> tensor<64x64xbf16, #c>
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

func.func @an_addition_outside_roles(%s: !sm.shared<64x64xf32, 128>, %v: !tile.view<2xf32>, %i: i32) {
  // expected-error @+1 {{must be in a role of 'sm.roles'}}
  sm.tma_add %s layout #c, %v at %i, %i : !sm.shared<64x64xf32, 128>, !tile.view<2xf32>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!one = !sm.channel<1, !sm.shared<64x64xf32, 128>>

func.func @barriers_of_one_warp(%ring: !sm.shared<1x64x64xf32, 128>) {
  // expected-error @+1 {{by_barriers goes from whole warpgroups to a role of one warp}}
  %c = sm.channel %ring from load to [add] by_barriers words 2 : !one
  sm.roles {
    load warps 1 registers 40 {
    }
    add warps 1 registers 40 {
    }
  }
  return
}

// -----

func.func @barriers_of_two_slots(%ring: !sm.shared<2x64x64xf32, 128>) {
  // expected-error @+1 {{by_barriers has one slot for a tile, and words}}
  %c = sm.channel %ring from compute to [add] by_barriers words 2 : !sm.channel<2, !sm.shared<64x64xf32, 128>>
  sm.roles {
    compute warps 4 registers 232 {
    }
    add warps 1 registers 40 {
    }
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!one = !sm.channel<1, !sm.shared<64x64xf32, 128>>

func.func @too_few_words(%ring: !sm.shared<1x64x64xf32, 128>, %x: tensor<64x64xf32, #c>, %i: i32) {
  %c = sm.channel %ring from compute to [add] by_barriers words 2 : !one
  sm.roles {
    compute warps 4 registers 232 {
      // expected-error @+1 {{stores 1 words; a slot of its channel has 2}}
      sm.producer_store %x, %c[%i] phase %i words(%i) : tensor<64x64xf32, #c>, !one
    }
    add warps 1 registers 40 {
    }
  }
  return
}

// -----

!one = !sm.channel<1, !sm.shared<64x64xf32, 128>>

func.func @too_many_words_read(%ring: !sm.shared<1x64x64xf32, 128>) {
  %c = sm.channel %ring from compute to [add] by_barriers words 0 : !one
  sm.roles {
    compute warps 4 registers 232 {
    }
    add warps 1 registers 40 {
      // expected-error @+1 {{reads 1 words; a slot of its channel has 0}}
      %w = sm.words %c : !one -> i32
    }
  }
  return
}

// -----

!one = !sm.channel<1, !sm.shared<64x64xf32, 128>>

func.func @a_wait_by_an_mbarrier(%ring: !sm.shared<1x64x64xf32, 128>, %i: i32) {
  %c = sm.channel %ring from compute to [add] by_barriers words 0 : !one
  sm.roles {
    compute warps 4 registers 232 {
    }
    add warps 1 registers 40 {
      // expected-error @+1 {{waits by an mbarrier in a channel by_barriers; an 'sm.next' waits there}}
      %t = sm.consumer_wait %c[%i] phase %i : !one
    }
  }
  return
}

// -----

!one = !sm.channel<1, !sm.shared<64x64xf32, 128>>

func.func @a_close_of_mbarriers(%ring: !sm.shared<1x64x64xf32, 128>) {
  %c = sm.channel %ring from compute to [add] : !one
  sm.roles {
    compute warps 4 registers 232 {
      // expected-error @+1 {{needs a channel by_barriers}}
      sm.close %c : !one
    }
    add warps 1 registers 40 {
    }
  }
  return
}

// -----

!one = !sm.channel<1, !sm.shared<64x64xf32, 128>>

func.func @a_close_in_the_role_that_reads(%ring: !sm.shared<1x64x64xf32, 128>) {
  %c = sm.channel %ring from compute to [add] by_barriers words 0 : !one
  sm.roles {
    compute warps 4 registers 232 {
    }
    add warps 1 registers 40 {
      // expected-error @+1 {{fills a slot in the role 'add'; the channel is filled by 'compute'}}
      sm.close %c : !one
    }
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xf32, 128>

func.func @a_release_before_tma_has_read(%ring: !sm.shared<1x64x64xf32, 128>, %v: !tile.view<2xf32>, %i: i32) {
  %c = sm.channel %ring from compute to [add] by_barriers words 0 : !sm.channel<1, !tile>
  sm.roles {
    compute warps 4 registers 232 {
    }
    add warps 1 registers 40 {
      %t = sm.consumer_wait %c[%i] phase %i already_full : !sm.channel<1, !tile>
      // expected-note @+1 {{the addition is here}}
      sm.tma_add %t layout #c, %v at %i, %i : !tile, !tile.view<2xf32>
      // expected-error @+1 {{releases a slot that TMA still reads}}
      sm.release %c[%i] per_warp : !sm.channel<1, !tile>
    }
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

func.func @three_coordinates_of_a_matrix(%s: !sm.shared<64x64xf32, 128>, %v: !tile.view<2xf32>, %i: i32) {
  sm.roles {
    add warps 1 registers 40 {
      // expected-error @+1 {{has 3 coordinates; boxes of its tensor have 2 or 4}}
      sm.tma_add %s layout #c, %v at %i, %i, %i : !sm.shared<64x64xf32, 128>, !tile.view<2xf32>
    }
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

func.func @an_addition_by_other_warps(%s: !sm.shared<64x64xf32, 128>, %v: !tile.view<2xf32>, %i: i32) {
  sm.roles {
    compute warps 8 registers 232 {
      // expected-error @+1 {{is in a role of 8 warps; one warp adds, or each of the 4 of its layout}}
      sm.tma_add %s layout #c, %v at %i, %i : !sm.shared<64x64xf32, 128>, !tile.view<2xf32>
    }
  }
  return
}

// -----

func.func @too_few_coordinates(%v: !tile.view<2xf32>, %i: index) {
  // expected-error @+1 {{has 1 results; its boxes have 2}}
  %x = sm.coordinates %v[%i, %i] : !tile.view<2xf32> -> i32
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16, 1:2:16]>

func.func @an_addition_of_half_panels(%s: !sm.shared<64x32xf32, 128>, %v: !tile.view<2xf32>, %i: i32) {
  // expected-error @+1 {{of which each warp has whole panels or all columns}}
  sm.tma_add %s layout #c, %v at %i, %i : !sm.shared<64x32xf32, 128>, !tile.view<2xf32>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16, 1:2:64]>

func.func @an_addition_of_other_columns(%s: !sm.shared<64x128xf32, 128>, %v: !tile.view<2xf32>, %i: i32) {
  // expected-error @+1 {{of which each warp has whole panels or all columns}}
  sm.tma_add %s layout #c columns 136, %v at %i, %i : !sm.shared<64x128xf32, 128>, !tile.view<2xf32>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:6:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

func.func @an_addition_from_a_larger_buffer(%s: !sm.shared<64x96xf32, 128>, %v: !tile.view<2xf32>, %i: i32) {
  // expected-error @+1 {{; its buffer is '!sm.shared<64x64xf32, 128>'}}
  sm.tma_add %s layout #c columns 40, %v at %i, %i : !sm.shared<64x96xf32, 128>, !tile.view<2xf32>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

func.func @product_of_columns(%a: !sm.shared<64x32xf32, 128>, %b: !sm.shared<32x64xf32, 128>) {
  // expected-error @+1 {{reads '!sm.shared<32x64xf32, 128>'; such operands must be K-major in shared memory}}
  %f = sm.wgmma %a, %b depth 32 : !sm.shared<64x32xf32, 128>, !sm.shared<32x64xf32, 128>
    -> !sm.inflight<tensor<64x64xf32, #c>>
  %r = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
  return
}

// -----

func.func @no_transpose(%a: !sm.shared<64x32xf32, 128>) {
  // expected-error @+1 {{which is not the transpose of a matrix}}
  %t = sm.transpose %a : !sm.shared<64x32xf32, 128> -> !sm.shared<64x32xf32, 128>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

func.func @a_store_beside_loads(%x: tensor<64x64xbf16, #c>, %v: !tile.view<2xbf16>, %i: index) {
  %zero = arith.constant 0 : i32
  %ring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
  %b = sm.channel %ring from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
  sm.roles {
    compute warps 4 registers 232 {
    }
    load warps 1 registers 32 {
      sm.producer_load %v[%i, %i] [64, 64], %b[%zero] phase %zero
        : !tile.view<2xbf16>, !sm.channel<2, !sm.shared<64x64xbf16, 128>>
      // expected-error @+1 {{stores to a channel to which TMA loads}}
      sm.producer_store %x, %b[%zero] phase %zero : tensor<64x64xbf16, #c>, !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    }
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

module attributes {tile.num_warps = 4 : i64} {
  func.func @a_store_to_a_ring_that_is_released(%x: tensor<64x64xbf16, #c>) {
    %zero = arith.constant 0 : i32
    %ring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    %b = sm.channel %ring from compute to [compute] per_warpgroup : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    sm.roles {
      compute warps 4 registers 232 {
        // expected-error @+1 {{stores to a channel per_warpgroup whose slots are released}}
        sm.producer_store %x, %b[%zero] phase %zero : tensor<64x64xbf16, #c>, !sm.channel<2, !sm.shared<64x64xbf16, 128>>
        sm.release %b[%zero] per_warp : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

func.func @coordinates_of_rows_of_rows(%v: !tile.view<2xf32>, %i: index) {
  %rows = tile.rows %v[%i, %i] : !tile.view<2xf32>
  %twice = tile.rows %rows[%i, %i] : !tile.view<2xf32>
  // expected-error @+1 {{has no coordinates: TMA moves rows(begin, end) of a matrix only, no rows of such rows, and pages only of a table}}
  %x:2 = sm.coordinates %twice[%i, %i] : !tile.view<2xf32> -> i32, i32
  return
}

// -----

func.func @coordinates_of_other_dimensions(%v: !tile.view<3xf32>, %i: index) {
  %matrix = tile.slice %v[%i] axis 1 : !tile.view<3xf32> -> !tile.view<2xf32>
  // expected-error @+1 {{has no coordinates: its rows and columns are not the last dimensions of its tensor; TMA moves tiles of these, so put them last}}
  %x:3 = sm.coordinates %matrix[%i, %i] : !tile.view<2xf32> -> i32, i32, i32
  return
}

// -----

func.func @coordinates_in_pages(%v: !tile.view<3xf32>, %table: !tile.view<1xi32>, %i: index) {
  %rows = tile.pages %v[%table] page 64 : !tile.view<3xf32>, !tile.view<1xi32> -> !tile.view<2xf32>
  // expected-error @+1 {{has no coordinates: TMA loads rows of pages, but does not store or add them}}
  %x:2 = sm.coordinates %rows[%i, %i] : !tile.view<2xf32> -> i32, i32
  return
}

// -----

func.func @a_load_of_rows_of_five_dimensions(%v: !tile.view<5xbf16>, %ring: !sm.shared<2x64x64xbf16, 128>, %i: index, %s: i32) {
  %b = sm.channel %ring from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
  sm.roles {
    compute warps 4 registers 232 {
    }
    load warps 1 registers 40 {
      %matrix = tile.slice %v[%i, %i, %i] : !tile.view<5xbf16> -> !tile.view<2xbf16>
      %rows = tile.rows %matrix[%i, %i] : !tile.view<2xbf16>
      // expected-error @+1 {{'sm.producer_load' op cannot load its tile: its tensor has 5 dimensions; with rows(begin, end), TMA loads tiles of at most 4}}
      sm.producer_load %rows[%i, %i] [64, 64], %b[%s] phase %s : !tile.view<2xbf16>, !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    }
  }
  return
}

// -----

func.func @a_store_without_roles(%s: !sm.shared<64x64xbf16, 128>, %o: !tile.view<2xbf16>, %i: index) {
  // expected-error @+1 {{'sm.tma_store' op must be in a role of 'sm.roles'}}
  sm.tma_store %s, %o[%i, %i] rows_of_warp 16 : !sm.shared<64x64xbf16, 128>, !tile.view<2xbf16>
  return
}

// -----

func.func @a_store_of_rows_that_no_warp_has(%s: !sm.shared<64x64xbf16, 128>, %o: !tile.view<2xbf16>, %i: index) {
  sm.roles {
    compute warps 8 registers 240 {
      // expected-error @+1 {{has rows_of_warp 16, but 8 warps share 64 rows}}
      sm.tma_store %s, %o[%i, %i] rows_of_warp 16 : !sm.shared<64x64xbf16, 128>, !tile.view<2xbf16>
    }
    load warps 1 registers 24 {
    }
  }
  return
}

// -----

func.func @a_store_to_rows_of_rows(%s: !sm.shared<64x64xbf16, 128>, %o: !tile.view<2xbf16>, %i: index) {
  sm.roles {
    compute warps 4 registers 240 {
      %rows = tile.rows %o[%i, %i] : !tile.view<2xbf16>
      %part = tile.rows %rows[%i, %i] : !tile.view<2xbf16>
      // expected-error @+1 {{cannot store its tile: TMA moves rows(begin, end) of a matrix only, no rows of such rows}}
      sm.tma_store %s, %part[%i, %i] rows_of_warp 16 : !sm.shared<64x64xbf16, 128>, !tile.view<2xbf16>
    }
    load warps 1 registers 24 {
    }
  }
  return
}

// -----

func.func @a_test_of_rows_of_a_vector(%v: !tile.view<1xf32>, %i: index) {
  // expected-error @+1 {{asks about rows of a vector; TMA stores matrices}}
  %fits = sm.fits %v at %i from !sm.shared<64xf32, 0> rows_of_warp 16 : !tile.view<1xf32>
  return
}

// -----

func.func @a_wait_for_stores_without_roles() {
  // expected-error @+1 {{'sm.tma_store_wait' op must be in a role of 'sm.roles'}}
  sm.tma_store_wait
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// The wait covers the branch in which the tile is stored, but not the next iteration.
!tile = !sm.shared<64x64xbf16, 128>
func.func @a_write_of_what_tma_reads(%o: !tile.view<2xbf16>, %n: index, %c: i1, %x: tensor<64x64xbf16, #c>) {
  sm.roles {
    compute warps 4 registers 240 {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %s = sm.alloc : !tile
      scf.for %i = %c0 to %n step %c64 {
        // expected-error @+1 {{writes a buffer that TMA may still read; an 'sm.tma_store_wait' must come first}}
        sm.write %x, %s : tensor<64x64xbf16, #c>, !tile
        scf.if %c {
          sm.tma_store %s, %o[%i, %c0] rows_of_warp 16 : !tile, !tile.view<2xbf16>
          sm.tma_store_wait %s : !tile
        } else {
          sm.tma_store %s, %o[%i, %c0] rows_of_warp 16 : !tile, !tile.view<2xbf16>
        }
      }
    }
    load warps 1 registers 24 {
    }
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// Each write comes after a wait on all paths: one for the buffer, or one for all stores.
!tile = !sm.shared<64x64xbf16, 128>
func.func @writes_after_waits(%o: !tile.view<2xbf16>, %n: index, %c: i1, %x: tensor<64x64xbf16, #c>) {
  sm.roles {
    compute warps 4 registers 240 {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %s = sm.alloc : !tile
      scf.for %i = %c0 to %n step %c64 {
        sm.write %x, %s : tensor<64x64xbf16, #c>, !tile
        sm.tma_store %s, %o[%i, %c0] rows_of_warp 16 : !tile, !tile.view<2xbf16>
        scf.if %c {
          sm.tma_store_wait %s : !tile
        } else {
          sm.tma_store_wait
        }
      }
    }
    load warps 1 registers 24 {
    }
  }
  return
}

// -----

func.func @a_test_of_a_view(%v: !tile.view<3xf32>, %i: index) {
  %matrix = tile.slice %v[%i] : !tile.view<3xf32> -> !tile.view<2xf32>
  // expected-error @+1 {{asks about a view; TMA has maps of whole tensors}}
  %fits = sm.fits %matrix at %i, %i from !sm.shared<64x64xf32, 128> : !tile.view<2xf32>
  return
}

// -----

func.func @elected_in_four_warps() {
  sm.roles {
    compute warps 4 registers 232 {
      // expected-error @+1 {{must be in a role of one warp}}
      sm.elect {
      }
    }
  }
  return
}

// -----

!tile = !sm.shared<64x64xbf16, 128>

func.func @a_ring_for_two_parts(%ring: !sm.shared<2x64x64xbf16, 128>) {
  // expected-error @+1 {{needs a ring for each part of its slots: 2, not 1}}
  %b = sm.channel %ring from load to [compute] : !sm.channel<2, !tile, !tile>
  return
}

// -----

!tile = !sm.shared<64x64xbf16, 128>
!buffer = !sm.shared<1x64x64xbf16, 128>
!ring = !sm.channel<1, !tile, !tile>

func.func @a_third_part(%v: !tile.view<2xbf16>, %i: index, %s: i32, %r: !buffer) {
  %b = sm.channel %r, %r from load to [compute] : !ring
  sm.roles {
    compute warps 4 registers 232 {
    }
    load warps 1 registers 40 {
      // expected-error @+1 {{'sm.producer_load' op loads part 2 of slots with 2 parts}}
      sm.producer_load %v[%i, %i] [64, 64], %b[%s] phase %s part 2 : !tile.view<2xbf16>, !ring
    }
  }
  return
}

// -----

!tile = !sm.shared<64x64xbf16, 128>
!buffer = !sm.shared<1x64x64xbf16, 128>
!ring = !sm.channel<1, !tile, !tile>

func.func @parts_in_another_order(%v: !tile.view<2xbf16>, %i: index, %s: i32, %r: !buffer) {
  %b = sm.channel %r, %r from load to [compute] : !ring
  sm.roles {
    compute warps 4 registers 232 {
    }
    load warps 1 registers 40 {
      // expected-error @+1 {{'sm.producer_load' op loads part 1 of a slot, of which no load before it fills part 0}}
      sm.producer_load %v[%i, %i] [64, 64], %b[%s] phase %s part 1 : !tile.view<2xbf16>, !ring
      sm.producer_load %v[%i, %i] [64, 64], %b[%s] phase %s : !tile.view<2xbf16>, !ring
    }
  }
  return
}

// -----

!tile = !sm.shared<64x64xbf16, 128>
!buffer = !sm.shared<2x64x64xbf16, 128>
!ring = !sm.channel<2, !tile, !tile>

func.func @half_a_slot(%v: !tile.view<2xbf16>, %i: index, %s: i32, %t: i32, %r: !buffer) {
  %b = sm.channel %r, %r from load to [compute] : !ring
  sm.roles {
    compute warps 4 registers 232 {
    }
    load warps 1 registers 40 {
      // expected-error @+1 {{'sm.producer_load' op loads part 0 of a slot, of which no load after it fills part 1}}
      sm.producer_load %v[%i, %i] [64, 64], %b[%s] phase %s : !tile.view<2xbf16>, !ring
      sm.producer_load %v[%i, %i] [64, 64], %b[%t] phase %s part 1 : !tile.view<2xbf16>, !ring
    }
  }
  return
}

// -----

!tile = !sm.shared<64x64xbf16, 128>
!buffer = !sm.shared<1x64x64xbf16, 128>
!ring = !sm.channel<1, !tile, !tile>

func.func @a_part_that_is_tested(%v: !tile.view<2xbf16>, %i: index, %s: i32, %r: !buffer) {
  %b = sm.channel %r, %r from load to [compute] : !ring
  sm.roles {
    compute warps 4 registers 232 {
    }
    load warps 1 registers 40 {
      // expected-error @+1 {{tests when it runs whether TMA loads a part; the bytes of a slot must be known before}}
      sm.producer_load %v[%i, %i] [64, 64], %b[%s] phase %s tma_only : !tile.view<2xbf16>, !ring
      sm.producer_load %v[%i, %i] [64, 64], %b[%s] phase %s part 1 : !tile.view<2xbf16>, !ring
    }
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>
!buffer = !sm.shared<1x64x64xbf16, 128>
!ring = !sm.channel<1, !tile, !tile>

func.func @a_stored_part(%x: tensor<64x64xbf16, #c>, %s: i32, %r: !buffer) {
  %b = sm.channel %r, %r from compute to [load] : !ring
  sm.roles {
    compute warps 4 registers 232 {
      // expected-error @+1 {{stores a tile to slots of 2 parts, of which it would fill only one}}
      sm.producer_store %x, %b[%s] phase %s : tensor<64x64xbf16, #c>, !ring
    }
    load warps 1 registers 40 {
    }
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>
!buffer = !sm.shared<1x64x64xbf16, 128>
!ring = !sm.channel<1, !tile, !tile>

// The release frees both parts.
func.func @second_part_read_after_the_release(%a: !tile, %i: i32, %r: !buffer) {
  %b = sm.channel %r, %r from load to [compute] : !ring
  sm.roles {
    compute warps 4 registers 232 {
      %k, %l = sm.consumer_wait %b[%i] phase %i : !ring
      // expected-note @+1 {{the release is here}}
      sm.release %b[%i] per_warp : !ring
      // expected-error @+1 {{reads a tile after its slot was released}}
      %x = sm.read %l : !tile -> tensor<64x16xbf16, #c>
    }
    load warps 1 registers 40 {
    }
  }
  return
}

// -----

!tile = !sm.shared<64x64xbf16, 128>
!buffer = !sm.shared<1x64x64xbf16, 128>
!ring = !sm.channel<1, !tile, !tile>

func.func @a_part_in_a_branch(%v: !tile.view<2xbf16>, %i: index, %s: i32, %r: !buffer, %sometimes: i1) {
  %b = sm.channel %r, %r from load to [compute] : !ring
  sm.roles {
    compute warps 4 registers 232 {
    }
    load warps 1 registers 32 {
      // expected-error @+1 {{loads part 0 of a slot, of which no load after it fills part 1}}
      sm.producer_load %v[%i, %i] [64, 64], %b[%s] phase %s : !tile.view<2xbf16>, !ring
      scf.if %sometimes {
        sm.producer_load %v[%i, %i] [64, 64], %b[%s] phase %s part 1 : !tile.view<2xbf16>, !ring
      }
    }
  }
  return
}
