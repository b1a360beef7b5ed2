// RUN: tegula-opt --plan-steps --pipeline-loops --split-input-file --verify-diagnostics %s
// What an author may get wrong in a step list.

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<64x64xf32, #c>>

module attributes {tile.num_warps = 4 : i64} {
  func.func @no_step(%n: index, %one: index, %a: !t) {
    sm.roles {
      compute warps 4 registers 232 {
        // expected-error @+1 {{tile.steps = "s@2": 's@2' is no step; legal are LABEL, LABEL@1, LABEL.end@1, LABEL.lhs, LABEL.rhs, < and >}}
        scf.for %j = %one to %n step %one {
          %f = sm.wgmma %a, %a depth 64 {tile.label = "s"} : !t, !t -> !f
          %s = sm.await %f : !f
        } {tile.steps = "s@2"}
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<64x64xf32, #c>>

module attributes {tile.num_warps = 4 : i64} {
  func.func @no_label(%n: index, %one: index, %a: !t) {
    sm.roles {
      compute warps 4 registers 232 {
        // expected-error @+1 {{tile.steps = "s o": nothing in the loop has the label 'o'; legal are s, p1}}
        scf.for %j = %one to %n step %one {
          %f = sm.wgmma %a, %a depth 64 {tile.label = "s"} : !t, !t -> !f
          %s = sm.await %f : !f
          %g = sm.wgmma %a, %a depth 64 : !t, !t -> !f
          %o = sm.await %g : !f
        } {tile.steps = "s o"}
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<64x64xf32, #c>>

module attributes {tile.num_warps = 4 : i64} {
  func.func @too_early(%n: index, %one: index, %a: !t) {
    sm.roles {
      compute warps 4 registers 232 {
        // expected-error @+1 {{the list has a step before another one that it needs}}
        scf.for %j = %one to %n step %one {
          %f = sm.wgmma %a, %a depth 64 : !t, !t -> !f
          %s = sm.await %f : !f
          %g = sm.wgmma %a, %a depth 64 acc %s : !t, !t, tensor<64x64xf32, #c> -> !f
          %o = sm.await %g : !f
        } {tile.steps = "p1 p0"}
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<64x64xf32, #c>>

module attributes {tile.num_warps = 4 : i64} {
  func.func @turns(%n: index, %one: index, %a: !t) {
    sm.roles {
      compute warps 4 registers 232 {
        // expected-error @+1 {{a turn begins with < and ends with >, and turns do not nest}}
        scf.for %j = %one to %n step %one {
          %f = sm.wgmma %a, %a depth 64 : !t, !t -> !f
          %s = sm.await %f : !f
        } {tile.steps = "< p0 < >"}
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<64x64xf32, #c>>

module attributes {tile.num_warps = 4 : i64} {
  func.func @needed_now(%n: index, %one: index, %a: !t, %none: tensor<64x64xf32, #c>) {
    sm.roles {
      compute warps 4 registers 232 {
        // expected-error @+1 {{an MMA that runs into the next iteration may only add to accumulators that the loop carries}}
        %r = scf.for %j = %one to %n step %one iter_args(%x = %none) -> tensor<64x64xf32, #c> {
          %f = sm.wgmma %a, %a depth 64 acc %x : !t, !t, tensor<64x64xf32, #c> -> !f
          %s = sm.await %f : !f
          %e = math.exp2 %s : tensor<64x64xf32, #c>
          scf.yield %e : tensor<64x64xf32, #c>
        } {tile.steps = "p0 p0.end@1"}
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>
!t = !sm.shared<128x64xbf16, 128>
!u = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<128x64xf32, #c>>

// Of several obstacles, the error names the first one: p1 also needs p0.
module attributes {tile.num_warps = 8 : i64} {
  func.func @two_obstacles(%n: index, %one: index, %a: !t, %u: !u, %x: tensor<64x64xbf16, #c>) {
    sm.roles {
      compute warps 8 registers 160 {
        // expected-error @+1 {{an MMA in a turn reads a tile of shared memory that the producer does not load}}
        scf.for %j = %one to %n step %one {
          %f = sm.wgmma %a, %u depth 64 : !t, !u -> !f
          %s = sm.await %f : !f
          %b = sm.to_shared %x : tensor<64x64xbf16, #c> -> !u
          %g = sm.wgmma %a, %b depth 64 acc %s : !t, !u, tensor<128x64xf32, #c> -> !f
          %o = sm.await %g : !f
        } {tile.steps = "< p1 >"}
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>
!t = !sm.shared<128x64xbf16, 128>
!u = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<128x64xf32, #c>>

// The barrier before the MMA would be in the turn: the other warpgroup waits for its turn, and never comes to it.
module attributes {tile.num_warps = 8 : i64} {
  func.func @a_barrier_in_a_turn(%n: index, %one: index, %a: !t, %x: tensor<64x64xbf16, #c>) {
    sm.roles {
      compute warps 8 registers 160 {
        // expected-error @+1 {{an MMA in a turn reads a tile of shared memory that the producer does not load}}
        scf.for %j = %one to %n step %one {
          %b = sm.to_shared %x : tensor<64x64xbf16, #c> -> !u
          %f = sm.wgmma %a, %b depth 64 : !t, !u -> !f
          %s = sm.await %f : !f
        } {tile.steps = "< p0 >"}
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<64x64xf32, #c>>

module attributes {tile.num_warps = 4 : i64} {
  func.func @no_write(%n: index, %one: index, %a: !t) {
    sm.roles {
      compute warps 4 registers 232 {
        // expected-error @+1 {{the MMA 'p0' has no such operand that lanes write and only MMAs of the loop read}}
        scf.for %j = %one to %n step %one {
          %f = sm.wgmma %a, %a depth 64 : !t, !t -> !f
          %s = sm.await %f : !f
        } {tile.steps = "p0.rhs p0"}
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<64x64xf32, #c>>

module attributes {tile.num_warps = 4 : i64} {
  func.func @needs_a_late_result(%n: index, %one: index, %a: !t) {
    sm.roles {
      compute warps 4 registers 232 {
        // expected-error @+1 {{a step that is not delayed needs the result of a delayed one}}
        scf.for %j = %one to %n step %one {
          %f = sm.wgmma %a, %a depth 64 : !t, !t -> !f
          %s = sm.await %f : !f
          %g = sm.wgmma %a, %a depth 64 acc %s : !t, !t, tensor<64x64xf32, #c> -> !f
          %o = sm.await %g : !f
        } {tile.steps = "p0@1 p1"}
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>
#half = #sm.layout<registers = [1:2:1, 0:2:8, 1:4:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16, 1:2:32]>
!t = !sm.shared<128x64xbf16, 128>
!f = !sm.inflight<tensor<128x64xf32, #c>>
!g = !sm.inflight<tensor<64x64xf32, #half>>

// Two warpgroups share each row of the scores, so the sum of a row takes a barrier.
module attributes {tile.num_warps = 8 : i64} {
  func.func @a_reduction_in_a_turn(%n: index, %one: index, %a: !t, %b: !sm.shared<64x64xbf16, 128>) {
    sm.roles {
      compute warps 8 registers 160 {
        // expected-error @+1 {{a turn contains an op that all warps execute together}}
        scf.for %j = %one to %n step %one {
          %f = sm.wgmma %b, %b depth 64 : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !g
          %s = sm.await %f : !g
          %sum = tile.reduce add %s axis 1 : tensor<64x64xf32, #half> -> tensor<64xf32, #sm.layout<registers = [0:2:8], lanes = [*:4, 0:8:1], warps = [0:4:16, *:2]>>
          %column = tile.reshape %sum : tensor<64xf32, #sm.layout<registers = [0:2:8], lanes = [*:4, 0:8:1], warps = [0:4:16, *:2]>> -> tensor<64x1xf32, #sm.layout<registers = [0:2:8], lanes = [*:4, 0:8:1], warps = [0:4:16, *:2]>>
          %sums = tile.broadcast %column : tensor<64x1xf32, #sm.layout<registers = [0:2:8], lanes = [*:4, 0:8:1], warps = [0:4:16, *:2]>> -> tensor<64x64xf32, #half>
          %p = arith.truncf %sums : tensor<64x64xf32, #half> to tensor<64x64xbf16, #half>
          %p_s = sm.to_shared %p : tensor<64x64xbf16, #half> -> !sm.shared<64x64xbf16, 128>
          %g = sm.wgmma %a, %p_s depth 64 : !t, !sm.shared<64x64xbf16, 128> -> !f
          %o = sm.await %g : !f
        } {tile.steps = "p0 < p1.rhs > p1@1"}
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<64x64xf32, #c>>
!one = !sm.channel<1, !t>

// The producer waits for the slot of k before it loads v. Consumers would release it only after they have waited for v.
module attributes {tile.num_warps = 4 : i64} {
  func.func @one_slot_and_a_delayed_mma(%x: !tile.view<2xbf16>, %n: index, %one: index, %zero: i32, %r: !sm.shared<1x64x64xbf16, 128>) {
    %k = sm.channel %r from load to [compute] : !one
    %v = sm.channel %r from load to [compute] : !one
    sm.roles {
      compute warps 4 registers 160 {
        // expected-error @+1 {{the tile of a delayed MMA has the only slot of its channel, for which the producer waits before it loads other tiles; legal are two stages and more}}
        scf.for %j = %one to %n step %one {
          %a = sm.consumer_wait %v[%zero] phase %zero : !one
          %f = sm.wgmma %a, %a depth 64 : !t, !t -> !f
          %s = sm.await %f : !f
          sm.release %v[%zero] : !one
          %b = sm.consumer_wait %k[%zero] phase %zero : !one
          %g = sm.wgmma %b, %b depth 64 acc %s : !t, !t, tensor<64x64xf32, #c> -> !f
          %o = sm.await %g : !f
          sm.release %k[%zero] : !one
        } {tile.steps = "p0 p1@1"}
      }
      load warps 1 registers 32 {
        scf.for %j = %one to %n step %one {
          sm.producer_load %x[%j, %one] [64, 64], %k[%zero] phase %zero : !tile.view<2xbf16>, !one
          sm.producer_load %x[%j, %one] [64, 64], %v[%zero] phase %zero : !tile.view<2xbf16>, !one
        }
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<64x64xf32, #c>>
!two = !sm.channel<2, !t>

// The inner loop needs the sum of the delayed MMA. If it has more tiles than slots, the producer never comes to the tile
// for which the next iteration waits.
module attributes {tile.num_warps = 4 : i64} {
  func.func @delayed_inner_loop(%n: index, %one: index, %zero: i32, %r: !sm.shared<2x64x64xbf16, 128>) {
    %k = sm.channel %r from load to [compute] : !two
    %v = sm.channel %r from load to [compute] : !two
    %w = sm.channel %r from load to [compute] : !two
    sm.roles {
      compute warps 4 registers 232 {
        %none = arith.constant dense<0.0> : tensor<64x64xf32, #c>
        // expected-error @+1 {{an inner loop would come one iteration late, and the producer loads its tiles before those for which the next iteration waits first}}
        %sum = scf.for %i = %one to %n step %one iter_args(%acc = %none) -> (tensor<64x64xf32, #c>) {
          %a = sm.consumer_wait %k[%zero] phase %zero : !two
          %f = sm.wgmma %a, %a depth 64 acc %acc : !t, !t, tensor<64x64xf32, #c> -> !f
          %s = sm.await %f : !f
          %inner = scf.for %j = %one to %n step %one iter_args(%part = %s) -> (tensor<64x64xf32, #c>) {
            %b = sm.consumer_wait %v[%zero] phase %zero : !two
            %g = sm.wgmma %b, %b depth 64 acc %part : !t, !t, tensor<64x64xf32, #c> -> !f
            %o = sm.await %g : !f
            sm.release %v[%zero] : !two
            scf.yield %o : tensor<64x64xf32, #c>
          }
          sm.release %k[%zero] : !two
          %b2 = sm.consumer_wait %w[%zero] phase %zero : !two
          %h = sm.wgmma %b2, %b2 depth 64 : !t, !t -> !f
          %p = sm.await %h : !f
          sm.release %w[%zero] : !two
          scf.yield %inner : tensor<64x64xf32, #c>
        } {tile.steps = "p1 p0@1"}
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<64x64xf32, #c>>

// The list of a schedule fits no loop.
module attributes {tile.num_warps = 4 : i64, tile.steps = "s p0"} {
  func.func @no_loop(%n: index, %one: index, %a: !t) {
    sm.roles {
      compute warps 4 registers 232 {
        // expected-error @+2 {{no loop has all labels of steps="s p0"; legal are the labels of one loop}}
        // expected-note @+1 {{this loop of the role 'compute' has s, p1}}
        scf.for %j = %one to %n step %one {
          %f = sm.wgmma %a, %a depth 64 {tile.label = "s"} : !t, !t -> !f
          %s = sm.await %f : !f
          %g = sm.wgmma %a, %a depth 64 : !t, !t -> !f
          %o = sm.await %g : !f
        }
        // expected-note @+1 {{this loop of the role 'compute' has p0}}
        scf.for %j = %one to %n step %one {
          %f = sm.wgmma %a, %a depth 64 : !t, !t -> !f
          %s = sm.await %f : !f
        }
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<64x64xf32, #c>>

module attributes {tile.num_warps = 4 : i64} {
  func.func @empty_turn(%n: index, %one: index, %a: !t) {
    sm.roles {
      compute warps 4 registers 232 {
        // expected-error @+1 {{tile.steps = "< > p0": a turn has at least one step between < and >}}
        scf.for %j = %one to %n step %one {
          %f = sm.wgmma %a, %a depth 64 : !t, !t -> !f
          %s = sm.await %f : !f
        } {tile.steps = "< > p0"}
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<64x64xf32, #c>>

module attributes {tile.num_warps = 4 : i64} {
  func.func @no_operands(%n: index, %one: index, %a: !t, %x: !tile.view<1xi32>) {
    sm.roles {
      compute warps 4 registers 232 {
        // expected-error @+1 {{tile.steps = "g.end@1": 'g' is no MMA; only MMAs have .end, .lhs and .rhs}}
        scf.for %j = %one to %n step %one {
          %g = tile.gather %x[%j] {tile.label = "g"} : !tile.view<1xi32>, index -> i32
        } {tile.steps = "g.end@1"}
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<64x64xf32, #c>>

module attributes {tile.num_warps = 4 : i64} {
  func.func @an_addition_too_early(%n: index, %one: index, %a: !t, %out: !tile.view<2xf32>) {
    sm.roles {
      compute warps 4 registers 232 {
        // expected-error @+1 {{the list has a step before another one that it needs}}
        scf.for %j = %one to %n step %one {
          %f = sm.wgmma %a, %a depth 64 : !t, !t -> !f
          %s = sm.await %f : !f
          tile.atomic_add %s, %out[%j, %one] {tile.label = "add"} : tensor<64x64xf32, #c>, !tile.view<2xf32>
        } {tile.steps = "add p0"}
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

// expected-error @+1 {{tile.steps is a string attribute of an scf.for, or of the module for all loops that it fits}}
module attributes {tile.steps = 3 : i64} {}
