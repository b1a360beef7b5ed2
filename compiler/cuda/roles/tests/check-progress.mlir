// RUN: tegula-opt --check-progress --split-input-file --verify-diagnostics %s

!tile = !sm.shared<64x64xbf16, 128>
!two = !sm.channel<2, !tile>
!one = !sm.channel<1, !tile>

// Consumers release k before they wait for v, in the order in which the producer loads them.
module attributes {tile.num_warps = 8 : i64} {
  func.func @in_order(%x: !tile.view<2xbf16>, %n: index, %r: !sm.shared<1x64x64xbf16, 128>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %k = sm.channel %r from load to [compute] : !one
    %v = sm.channel %r from load to [compute] : !one
    sm.roles {
      compute warps 8 registers 232 {
        %end = scf.for %j = %c0 to %n step %c64 iter_args(%phase = %zero) -> i32 {
          %a = sm.consumer_wait %k[%zero] phase %phase : !one
          sm.release %k[%zero] per_warp : !one
          %b = sm.consumer_wait %v[%zero] phase %phase : !one
          sm.release %v[%zero] per_warp : !one
          %next = arith.xori %phase, %one : i32
          scf.yield %next : i32
        }
      }
      load warps 1 registers 40 {
        %end = scf.for %j = %c0 to %n step %c64 iter_args(%phase = %zero) -> i32 {
          sm.producer_load %x[%j, %c0] [64, 64], %k[%zero] phase %phase : !tile.view<2xbf16>, !one
          sm.producer_load %x[%j, %c0] [64, 64], %v[%zero] phase %phase : !tile.view<2xbf16>, !one
          %next = arith.xori %phase, %one : i32
          scf.yield %next : i32
        }
      }
    }
    return
  }
}

// -----

!tile = !sm.shared<64x64xbf16, 128>
!one = !sm.channel<1, !tile>

// Consumers release the first tile of k only when the second one has arrived; it has no other slot.
module attributes {tile.num_warps = 8 : i64} {
  func.func @one_slot_for_two_tiles(%x: !tile.view<2xbf16>, %n: index, %r: !sm.shared<1x64x64xbf16, 128>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %k = sm.channel %r from load to [compute] : !one
    sm.roles {
      compute warps 8 registers 232 {
        %first = sm.consumer_wait %k[%zero] phase %zero : !one
        %end = scf.for %j = %c64 to %n step %c64 iter_args(%phase = %one) -> i32 {
          // expected-error @+2 {{the roles wait for each other, and none can go on; legal are more stages, or another step list}}
          // expected-note @+1 {{the role 'compute' waits here for a full slot}}
          %next = sm.consumer_wait %k[%zero] phase %phase : !one
          sm.release %k[%zero] per_warp : !one
          %other = arith.xori %phase, %one : i32
          scf.yield %other : i32
        }
      }
      load warps 1 registers 40 {
        %end = scf.for %j = %c0 to %n step %c64 iter_args(%phase = %zero) -> i32 {
          // expected-note @+1 {{the role 'load' waits here for an empty slot}}
          sm.producer_load %x[%j, %c0] [64, 64], %k[%zero] phase %phase : !tile.view<2xbf16>, !one
          %next = arith.xori %phase, %one : i32
          scf.yield %next : i32
        }
      }
    }
    return
  }
}

// -----

!tile = !sm.shared<64x64xbf16, 128>
!two = !sm.channel<2, !tile>

// With two slots the same order is legal, for any number of tiles, and so is an outer loop in which it begins again.
module attributes {tile.num_warps = 8 : i64} {
  func.func @two_slots_for_two_tiles(%x: !tile.view<2xbf16>, %n: index, %r: !sm.shared<2x64x64xbf16, 128>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %k = sm.channel %r from load to [compute] : !two
    sm.roles {
      compute warps 8 registers 232 {
        %isEntered = arith.cmpi slt, %c0, %n : index
        scf.if %isEntered {
          %first = sm.consumer_wait %k[%zero] phase %zero : !two
          %end:2 = scf.for %j = %c64 to %n step %c64 iter_args(%slot = %one, %phase = %zero) -> (i32, i32) {
            %tile = sm.consumer_wait %k[%slot] phase %phase : !two
            %next = arith.xori %slot, %one : i32
            sm.release %k[%next] per_warp : !two
            %other = arith.xori %phase, %slot : i32
            scf.yield %next, %other : i32, i32
          }
        }
      }
      load warps 1 registers 40 {
        %end:2 = scf.for %j = %c0 to %n step %c64 iter_args(%slot = %zero, %phase = %zero) -> (i32, i32) {
          sm.producer_load %x[%j, %c0] [64, 64], %k[%slot] phase %phase : !tile.view<2xbf16>, !two
          %next = arith.xori %slot, %one : i32
          %other = arith.xori %phase, %slot : i32
          scf.yield %next, %other : i32, i32
        }
      }
    }
    return
  }
}

// -----

!tile = !sm.shared<64x64xbf16, 128>
!one = !sm.channel<1, !tile>

// Each side waits for what the other one does later.
module attributes {tile.num_warps = 4 : i64} {
  func.func @crossed(%x: !tile.view<2xbf16>, %n: index, %r: !sm.shared<1x64x64xbf16, 128>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %k = sm.channel %r from load to [compute] : !one
    %v = sm.channel %r from load to [compute] : !one
    sm.roles {
      compute warps 4 registers 232 {
        %a = sm.consumer_wait %k[%zero] phase %zero : !one
        %b = sm.consumer_wait %v[%zero] phase %zero : !one
        sm.release %v[%zero] per_warp : !one
        // expected-error @+2 {{the roles wait for each other}}
        // expected-note @+1 {{the role 'compute' waits here for a full slot}}
        %c = sm.consumer_wait %v[%zero] phase %one : !one
        sm.release %k[%zero] per_warp : !one
        sm.release %v[%zero] per_warp : !one
      }
      load warps 1 registers 40 {
        %end = scf.for %j = %c0 to %c2 step %c1 iter_args(%phase = %zero) -> i32 {
          // expected-note @+1 {{the role 'load' waits here for an empty slot}}
          sm.producer_load %x[%j, %c0] [64, 64], %k[%zero] phase %phase : !tile.view<2xbf16>, !one
          sm.producer_load %x[%j, %c0] [64, 64], %v[%zero] phase %phase : !tile.view<2xbf16>, !one
          %next = arith.xori %phase, %one : i32
          scf.yield %next : i32
        }
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16, 1:2:64]>
!tile = !sm.shared<64x128xbf16, 128>
!three = !sm.channel<3, !tile>

// The second warpgroup gets its turn from the store of the first one, which waits inside its turn for both.
module attributes {tile.num_warps = 8 : i64} {
  func.func @exchange_in_a_turn(%x: tensor<64x128xbf16, #c>, %r: !sm.shared<3x64x128xbf16, 128>) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %d = sm.channel %r from compute to [compute] per_warpgroup : !three
    sm.roles {
      compute warps 8 registers 232 {
        sm.sequence_init
        // expected-note @+1 {{the role 'compute' waits here for its turn}}
        sm.sequence_wait
        sm.producer_store %x, %d[%zero] phase %zero : tensor<64x128xbf16, #c>, !three
        // expected-error @+2 {{the roles wait for each other}}
        // expected-note @+1 {{the role 'compute' waits here for a full slot}}
        %t = sm.consumer_wait %d[%zero] phase %zero : !three
        sm.sequence_arrive
      }
      load warps 1 registers 40 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16, 1:2:64]>
!tile = !sm.shared<64x128xbf16, 128>
!three = !sm.channel<3, !tile>

// The turn ends with the store.
module attributes {tile.num_warps = 8 : i64} {
  func.func @exchange_after_a_turn(%x: tensor<64x128xbf16, #c>, %r: !sm.shared<3x64x128xbf16, 128>) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %d = sm.channel %r from compute to [compute] per_warpgroup : !three
    sm.roles {
      compute warps 8 registers 232 {
        sm.sequence_wait stores %d[%zero] phase %zero : !three
        sm.producer_store %x, %d[%zero] phase %zero : tensor<64x128xbf16, #c>, !three
        %t = sm.consumer_wait %d[%zero] phase %zero : !three
        sm.sequence_wait stores %d[%one] phase %zero : !three
        sm.producer_store %x, %d[%one] phase %zero : tensor<64x128xbf16, #c>, !three
        %u = sm.consumer_wait %d[%one] phase %zero : !three
      }
      load warps 1 registers 40 {
      }
    }
    return
  }
}

// -----

!work = !sm.channel<2>

// Both sides go through all work indices and the one that ends the loop.
module attributes {tile.num_warps = 4 : i64} {
  func.func @work(%counter: !tile.view<1xi32>, %x: !tile.view<2xbf16>) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %w = sm.channel from load to [compute] : !work
    sm.roles {
      compute warps 4 registers 232 {
        %blocks = arith.constant 9 : i32
        %end:3 = scf.while (%slot = %zero, %phase = %zero) : (i32, i32) -> (i32, i32, i32) {
          %n = sm.consume_work %w[%slot] phase %phase : !work
          sm.release %w[%slot] per_warp : !work
          %isWork = arith.cmpi slt, %n, %blocks : i32
          scf.condition(%isWork) %n, %slot, %phase : i32, i32, i32
        } do {
        ^bb0(%n: i32, %slot: i32, %phase: i32):
          %next = arith.xori %slot, %one : i32
          %other = arith.xori %phase, %slot : i32
          scf.yield %next, %other : i32, i32
        }
      }
      load warps 1 registers 40 {
        %blocks = arith.constant 9 : i32
        %end:3 = scf.while (%slot = %zero, %phase = %zero) : (i32, i32) -> (i32, i32, i32) {
          %n = sm.produce_work %counter, %w[%slot] phase %phase : !tile.view<1xi32>, !work
          %isWork = arith.cmpi slt, %n, %blocks : i32
          scf.condition(%isWork) %n, %slot, %phase : i32, i32, i32
        } do {
        ^bb0(%n: i32, %slot: i32, %phase: i32):
          %next = arith.xori %slot, %one : i32
          %other = arith.xori %phase, %slot : i32
          scf.yield %next, %other : i32, i32
        }
      }
    }
    return
  }
}

// -----

!tile = !sm.shared<64x64xbf16, 128>
!one = !sm.channel<1, !tile>
!work = !sm.channel<1>

// Each of three roles waits for the next one: the role that loads waits for a slot of k, the one that computes for the
// second work index, and the one that draws for the slot of the first index, which the first role still has.
func.func @a_cycle_of_three_roles(%x: !tile.view<2xbf16>, %counter: !tile.view<1xi32>, %r: !sm.shared<1x64x64xbf16, 128>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %k = sm.channel %r from load to [compute] : !one
  %work = sm.channel from draw to [compute, load] : !work
  sm.roles {
    compute warps 8 registers 208 {
      %n = sm.consume_work %work[%zero] phase %zero : !work
      sm.release %work[%zero] per_warp : !work
      %a = sm.consumer_wait %k[%zero] phase %zero : !one
      // expected-error @+2 {{the roles wait for each other}}
      // expected-note @+1 {{the role 'compute' waits here for a full slot}}
      %m = sm.consume_work %work[%zero] phase %one : !work
      sm.release %work[%zero] per_warp : !work
      sm.release %k[%zero] : !one
      %b = sm.consumer_wait %k[%zero] phase %one : !one
      sm.release %k[%zero] : !one
    }
    load warps 1 registers 40 {
      %n = sm.consume_work %work[%zero] phase %zero : !work
      sm.producer_load %x[%c0, %c0] [64, 64], %k[%zero] phase %zero : !tile.view<2xbf16>, !one
      // expected-note @+1 {{the role 'load' waits here for an empty slot}}
      sm.producer_load %x[%c0, %c0] [64, 64], %k[%zero] phase %one : !tile.view<2xbf16>, !one
      sm.release %work[%zero] per_warp : !work
      %m = sm.consume_work %work[%zero] phase %one : !work
      sm.release %work[%zero] per_warp : !work
    }
    draw warps 1 registers 40 {
      %n = sm.produce_work %counter, %work[%zero] phase %zero : !tile.view<1xi32>, !work
      // expected-note @+1 {{the role 'draw' waits here for an empty slot}}
      %m = sm.produce_work %counter, %work[%zero] phase %one : !tile.view<1xi32>, !work
    }
  }
  return
}

// -----

!tile = !sm.shared<64x64xbf16, 128>
!one = !sm.channel<1, !tile>
!work = !sm.channel<1>

// The role that loads releases the work index before it loads.
func.func @three_roles_that_go_on(%x: !tile.view<2xbf16>, %counter: !tile.view<1xi32>, %r: !sm.shared<1x64x64xbf16, 128>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %k = sm.channel %r from load to [compute] : !one
  %work = sm.channel from draw to [compute, load] : !work
  sm.roles {
    compute warps 8 registers 208 {
      %n = sm.consume_work %work[%zero] phase %zero : !work
      sm.release %work[%zero] per_warp : !work
      %a = sm.consumer_wait %k[%zero] phase %zero : !one
      %m = sm.consume_work %work[%zero] phase %one : !work
      sm.release %work[%zero] per_warp : !work
      sm.release %k[%zero] : !one
      %b = sm.consumer_wait %k[%zero] phase %one : !one
      sm.release %k[%zero] : !one
    }
    load warps 1 registers 40 {
      %n = sm.consume_work %work[%zero] phase %zero : !work
      sm.release %work[%zero] per_warp : !work
      sm.producer_load %x[%c0, %c0] [64, 64], %k[%zero] phase %zero : !tile.view<2xbf16>, !one
      sm.producer_load %x[%c0, %c0] [64, 64], %k[%zero] phase %one : !tile.view<2xbf16>, !one
      %m = sm.consume_work %work[%zero] phase %one : !work
      sm.release %work[%zero] per_warp : !work
    }
    draw warps 1 registers 40 {
      %n = sm.produce_work %counter, %work[%zero] phase %zero : !tile.view<1xi32>, !work
      %m = sm.produce_work %counter, %work[%zero] phase %one : !tile.view<1xi32>, !work
    }
  }
  return
}

// -----

!tile = !sm.shared<64x64xbf16, 128>
!one = !sm.channel<1, !tile>

// One release of the slot is of each warp, so the slot waits for all warps each time.
func.func @an_arrival_too_few(%x: !tile.view<2xbf16>, %r: !sm.shared<1x64x64xbf16, 128>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %k = sm.channel %r from load to [compute] : !one
  sm.roles {
    compute warps 4 registers 232 {
      %a = sm.consumer_wait %k[%zero] phase %zero : !one
      sm.release %k[%zero] : !one
      // expected-error @+2 {{the roles wait for each other}}
      // expected-note @+1 {{the role 'compute' waits here for a full slot}}
      %b = sm.consumer_wait %k[%zero] phase %one : !one
      sm.release %k[%zero] per_warp : !one
    }
    load warps 1 registers 40 {
      sm.producer_load %x[%c0, %c0] [64, 64], %k[%zero] phase %zero : !tile.view<2xbf16>, !one
      // expected-note @+1 {{the role 'load' waits here for an empty slot}}
      sm.producer_load %x[%c0, %c0] [64, 64], %k[%zero] phase %one : !tile.view<2xbf16>, !one
    }
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>
!one = !sm.channel<1, !tile>

// The role between two others stores the second tile when the first one is free again.
func.func @a_role_between_two(%x: !tile.view<2xbf16>, %r: !sm.shared<1x64x64xbf16, 128>, %q: !sm.shared<1x64x64xbf16, 128>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %k = sm.channel %r from load to [transpose] : !one
  %t = sm.channel %q from transpose to [compute] : !one
  sm.roles {
    compute warps 8 registers 208 {
      %a = sm.consumer_wait %t[%zero] phase %zero : !one
      sm.release %t[%zero] : !one
      %b = sm.consumer_wait %t[%zero] phase %one : !one
      sm.release %t[%zero] : !one
    }
    transpose warps 4 registers 40 {
      %a = sm.consumer_wait %k[%zero] phase %zero : !one
      %v = sm.read %a : !tile -> tensor<64x64xbf16, #c>
      sm.release %k[%zero] per_warp : !one
      sm.producer_store %v, %t[%zero] phase %zero : tensor<64x64xbf16, #c>, !one
      %b = sm.consumer_wait %k[%zero] phase %one : !one
      %w = sm.read %b : !tile -> tensor<64x64xbf16, #c>
      sm.release %k[%zero] per_warp : !one
      sm.producer_store %w, %t[%zero] phase %one : tensor<64x64xbf16, #c>, !one
    }
    load warps 1 registers 40 {
      sm.producer_load %x[%c0, %c0] [64, 64], %k[%zero] phase %zero : !tile.view<2xbf16>, !one
      sm.producer_load %x[%c0, %c0] [64, 64], %k[%zero] phase %one : !tile.view<2xbf16>, !one
    }
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>
!one = !sm.channel<1, !tile>

// The readers keep the only slot until the second tile has arrived.
func.func @a_role_between_two_without_a_slot(%x: !tile.view<2xbf16>, %r: !sm.shared<1x64x64xbf16, 128>,
                                             %q: !sm.shared<1x64x64xbf16, 128>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %k = sm.channel %r from load to [transpose] : !one
  %t = sm.channel %q from transpose to [compute] : !one
  sm.roles {
    compute warps 8 registers 208 {
      %a = sm.consumer_wait %t[%zero] phase %zero : !one
      // expected-error @+2 {{the roles wait for each other}}
      // expected-note @+1 {{the role 'compute' waits here for a full slot}}
      %b = sm.consumer_wait %t[%zero] phase %one : !one
      sm.release %t[%zero] : !one
    }
    transpose warps 4 registers 40 {
      %a = sm.consumer_wait %k[%zero] phase %zero : !one
      %v = sm.read %a : !tile -> tensor<64x64xbf16, #c>
      sm.release %k[%zero] per_warp : !one
      sm.producer_store %v, %t[%zero] phase %zero : tensor<64x64xbf16, #c>, !one
      // expected-note @+1 {{the role 'transpose' waits here for an empty slot}}
      sm.producer_store %v, %t[%zero] phase %one : tensor<64x64xbf16, #c>, !one
    }
    load warps 1 registers 40 {
      sm.producer_load %x[%c0, %c0] [64, 64], %k[%zero] phase %zero : !tile.view<2xbf16>, !one
    }
  }
  return
}

// -----

!tile = !sm.shared<64x64xf32, 128>
!one = !sm.channel<1, !tile>
#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

// The role that adds ends when its channel is closed, after any number of tiles.
module attributes {tile.num_warps = 8 : i64} {
  func.func @closed(%x: tensor<64x64xf32, #c>, %n: index, %r: !sm.shared<1x64x64xf32, 128>) {
    %zero = arith.constant 0 : i32
    %to = sm.channel %r from compute to [add] by_barriers words 0 : !one
    sm.roles {
      compute warps 8 registers 232 {
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        scf.for %j = %c0 to %n step %c64 {
          sm.producer_store %x, %to[%zero] phase %zero : tensor<64x64xf32, #c>, !one
        }
        sm.close %to : !one
      }
      add warps 1 registers 40 {
        sm.release %to[%zero] per_warp : !one
        scf.while : () -> () {
          %open = sm.next %to : !one
          scf.condition(%open)
        } do {
          sm.release %to[%zero] per_warp : !one
          scf.yield
        }
      }
    }
    return
  }
}

// -----

!tile = !sm.shared<64x64xf32, 128>
!one = !sm.channel<1, !tile>
#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

// Nobody says that no tile follows.
module attributes {tile.num_warps = 8 : i64} {
  func.func @left_open(%x: tensor<64x64xf32, #c>, %r: !sm.shared<1x64x64xf32, 128>) {
    %zero = arith.constant 0 : i32
    %to = sm.channel %r from compute to [add] by_barriers words 0 : !one
    sm.roles {
      compute warps 8 registers 232 {
        sm.producer_store %x, %to[%zero] phase %zero : tensor<64x64xf32, #c>, !one
      }
      add warps 1 registers 40 {
        sm.release %to[%zero] per_warp : !one
        scf.while : () -> () {
          // expected-error @+2 {{the roles wait for each other, and none can go on}}
          // expected-note @+1 {{the role 'add' waits here for a full slot, or for the end of a channel}}
          %open = sm.next %to : !one
          scf.condition(%open)
        } do {
          sm.release %to[%zero] per_warp : !one
          scf.yield
        }
      }
    }
    return
  }
}

// -----

!tile = !sm.shared<64x64xf32, 128>
!one = !sm.channel<1, !tile>
#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

// The slot is not released before the first tile, so both roles wait for the other one.
module attributes {tile.num_warps = 8 : i64} {
  func.func @never_released(%x: tensor<64x64xf32, #c>, %r: !sm.shared<1x64x64xf32, 128>) {
    %zero = arith.constant 0 : i32
    %to = sm.channel %r from compute to [add] by_barriers words 0 : !one
    sm.roles {
      compute warps 8 registers 232 {
        // expected-error @+2 {{the roles wait for each other, and none can go on}}
        // expected-note @+1 {{the role 'compute' waits here for an empty slot}}
        sm.producer_store %x, %to[%zero] phase %zero : tensor<64x64xf32, #c>, !one
        sm.close %to : !one
      }
      add warps 1 registers 40 {
        scf.while : () -> () {
          // expected-note @+1 {{the role 'add' waits here for a full slot, or for the end of a channel}}
          %open = sm.next %to : !one
          scf.condition(%open)
        } do {
          sm.release %to[%zero] per_warp : !one
          scf.yield
        }
      }
    }
    return
  }
}

// -----

!tile = !sm.shared<64x64xbf16, 128>
!ring = !sm.channel<1, !tile, !tile>

// Consumers keep the only slot until the next one is full, and both of its parts wait for it.
module attributes {tile.num_warps = 8 : i64} {
  func.func @one_slot_of_two_parts(%x: !tile.view<2xbf16>, %n: index, %r: !sm.shared<1x64x64xbf16, 128>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %k = sm.channel %r, %r from load to [compute] : !ring
    sm.roles {
      compute warps 8 registers 232 {
        %a, %b = sm.consumer_wait %k[%zero] phase %zero : !ring
        %end = scf.for %j = %c64 to %n step %c64 iter_args(%phase = %one) -> i32 {
          // expected-error @+2 {{the roles wait for each other, and none can go on; legal are more stages, or another step list}}
          // expected-note @+1 {{the role 'compute' waits here for a full slot}}
          %c, %d = sm.consumer_wait %k[%zero] phase %phase : !ring
          sm.release %k[%zero] per_warp : !ring
          %next = arith.xori %phase, %one : i32
          scf.yield %next : i32
        }
      }
      load warps 1 registers 40 {
        %end = scf.for %j = %c0 to %n step %c64 iter_args(%phase = %zero) -> i32 {
          // expected-note @+1 {{the role 'load' waits here for an empty slot}}
          sm.producer_load %x[%j, %c0] [64, 64], %k[%zero] phase %phase : !tile.view<2xbf16>, !ring
          sm.producer_load %x[%j, %c64] [64, 64], %k[%zero] phase %phase part 1 : !tile.view<2xbf16>, !ring
          %next = arith.xori %phase, %one : i32
          scf.yield %next : i32
        }
      }
    }
    return
  }
}
