// RUN: tegula-opt --plan-steps --split-input-file --verify-diagnostics %s | FileCheck %s
// The order that the compiler chooses for the MMAs of each consumer loop, in the order of the source.

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<64x64xf32, #c>>
!x = tensor<64x64xf32, #c>

module attributes {tile.num_warps = 4 : i64} {
  // MMAs come first that wait for no other, of these the ones for which others wait: p2 needs p1.
  // CHECK-LABEL: @needs_and_followers
  // CHECK: } {tile.steps = "p1 p0 p2"}
  func.func @needs_and_followers(%n: index, %one: index, %a: !t) {
    sm.roles {
      compute warps 4 registers 232 {
        scf.for %j = %one to %n step %one {
          %f0 = sm.wgmma %a, %a depth 64 : !t, !t -> !f
          %0 = sm.await %f0 : !f
          %f1 = sm.wgmma %a, %a depth 64 : !t, !t -> !f
          %1 = sm.await %f1 : !f
          %e = math.exp2 %1 : !x
          %f2 = sm.wgmma %a, %a depth 64 acc %e : !t, !t, !x -> !f
          %2 = sm.await %f2 : !f
        }
      }
      load warps 1 registers 32 {
      }
    }
    return
  }

  // Labels of the program are the names of its MMAs. Its own list stays.
  // CHECK-LABEL: @labels
  // CHECK: } {tile.steps = "p s"}
  // CHECK: } {tile.steps = "s p"}
  func.func @labels(%n: index, %one: index, %a: !t) {
    sm.roles {
      compute warps 4 registers 232 {
        scf.for %j = %one to %n step %one {
          %f0 = sm.wgmma %a, %a depth 64 {tile.label = "s"} : !t, !t -> !f
          %0 = sm.await %f0 : !f
          %f1 = sm.wgmma %a, %a depth 64 {tile.label = "p"} : !t, !t -> !f
          %1 = sm.await %f1 : !f
          %e = math.exp2 %1 : !x
        }
        scf.for %j = %one to %n step %one {
          %f0 = sm.wgmma %a, %a depth 64 {tile.label = "s"} : !t, !t -> !f
          %0 = sm.await %f0 : !f
          %f1 = sm.wgmma %a, %a depth 64 {tile.label = "p"} : !t, !t -> !f
          %1 = sm.await %f1 : !f
          %e = math.exp2 %1 : !x
        } {tile.steps = "s p"}
      }
      load warps 1 registers 32 {
      }
    }
    return
  }

  // Of MMAs that wait for nothing, the one comes first that reads the only slot of a ring.
  // CHECK-LABEL: @only_slot
  // CHECK: } {tile.steps = "p1 p0"}
  func.func @only_slot(%n: index, %one: index, %zero: i32, %a: !t, %ring: !sm.shared<1x64x64xbf16, 128>) {
    %k = sm.channel %ring from load to [compute] : !sm.channel<1, !t>
    sm.roles {
      compute warps 4 registers 232 {
        scf.for %j = %one to %n step %one {
          %f0 = sm.wgmma %a, %a depth 64 : !t, !t -> !f
          %0 = sm.await %f0 : !f
          %b = sm.consumer_wait %k[%zero] phase %zero : !sm.channel<1, !t>
          %f1 = sm.wgmma %a, %b depth 64 : !t, !t -> !f
          %1 = sm.await %f1 : !f
          sm.release %k[%zero] : !sm.channel<1, !t>
        }
      }
      load warps 1 registers 32 {
      }
    }
    return
  }

  // A step list has no effect where no warp is specialized.
  // CHECK-LABEL: @no_roles
  func.func @no_roles(%n: index, %one: index, %a: !t) {
    // expected-remark @+1 {{the step list has no effect: only loops of roles have one (roles=load on sm_90a)}}
    scf.for %j = %one to %n step %one {
      %f0 = sm.wgmma %a, %a depth 64 : !t, !t -> !f
      %0 = sm.await %f0 : !f
    } {tile.steps = "p0"}
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<64x64xf32, #c>>
!x = tensor<64x64xf32, #c>

// A single MMA runs on while the next iteration starts, if its accumulators are only carried and its rings have two
// slots.
module attributes {tile.num_warps = 4 : i64} {
  // CHECK-LABEL: @in_flight
  // CHECK: } {tile.steps = "p0 p0.end@1"}
  // CHECK: } {tile.steps = "p0"}
  // CHECK: } {tile.steps = "p0"}
  func.func @in_flight(%n: index, %one: index, %zero: i32, %none: !x, %r: !sm.shared<2x64x64xbf16, 128>,
                       %s: !sm.shared<1x64x64xbf16, 128>) {
    %two = sm.channel %r from load to [compute] : !sm.channel<2, !t>
    %single = sm.channel %s from load to [compute] : !sm.channel<1, !t>
    sm.roles {
      compute warps 4 registers 232 {
        scf.for %j = %one to %n step %one iter_args(%acc = %none) -> (!x) {
          %a = sm.consumer_wait %two[%zero] phase %zero : !sm.channel<2, !t>
          %f0 = sm.wgmma %a, %a depth 64 acc %acc : !t, !t, !x -> !f
          %0 = sm.await %f0 : !f
          sm.release %two[%zero] : !sm.channel<2, !t>
          scf.yield %0 : !x
        }
        // One slot:
        scf.for %j = %one to %n step %one iter_args(%acc = %none) -> (!x) {
          %a = sm.consumer_wait %single[%zero] phase %zero : !sm.channel<1, !t>
          %f0 = sm.wgmma %a, %a depth 64 acc %acc : !t, !t, !x -> !f
          %0 = sm.await %f0 : !f
          sm.release %single[%zero] : !sm.channel<1, !t>
          scf.yield %0 : !x
        }
        // The iteration needs the sum:
        scf.for %j = %one to %n step %one iter_args(%acc = %none) -> (!x) {
          %a = sm.consumer_wait %two[%zero] phase %zero : !sm.channel<2, !t>
          %f0 = sm.wgmma %a, %a depth 64 acc %acc : !t, !t, !x -> !f
          %0 = sm.await %f0 : !f
          sm.release %two[%zero] : !sm.channel<2, !t>
          %e = math.exp2 %0 : !x
          scf.yield %e : !x
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
!x = tensor<64x64xf32, #c>

// The schedule may forbid it.
module attributes {tile.overlap = "none", tile.num_warps = 4 : i64} {
  // CHECK-LABEL: @not_in_flight
  // CHECK: } {tile.steps = "p0"}
  func.func @not_in_flight(%n: index, %one: index, %zero: i32, %none: !x, %r: !sm.shared<2x64x64xbf16, 128>) {
    %two = sm.channel %r from load to [compute] : !sm.channel<2, !t>
    sm.roles {
      compute warps 4 registers 232 {
        scf.for %j = %one to %n step %one iter_args(%acc = %none) -> (!x) {
          %a = sm.consumer_wait %two[%zero] phase %zero : !sm.channel<2, !t>
          %f0 = sm.wgmma %a, %a depth 64 acc %acc : !t, !t, !x -> !f
          %0 = sm.await %f0 : !f
          sm.release %two[%zero] : !sm.channel<2, !t>
          scf.yield %0 : !x
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
#words = #sm.layout<registers = [0:2:8, 1:8:4], lanes = [1:4:1, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<64x64xf32, #c>>
!x = tensor<64x64xf32, #c>
!ch = !sm.channel<2, !t>

// With overlap, the last MMA comes one iteration late. One warpgroup takes no turns.
module attributes {tile.overlap = "pingpong", tile.num_warps = 4 : i64} {
  // CHECK-LABEL: @one_warpgroup
  // CHECK: } {tile.steps = "p0 p1@1"}
  func.func @one_warpgroup(%n: index, %one: index, %zero: i32, %none: !x, %q: !t, %r: !sm.shared<2x64x64xbf16, 128>) {
    %keys = sm.channel %r from load to [compute] : !ch
    %values = sm.channel %r from load to [compute] : !ch
    sm.roles {
      compute warps 4 registers 232 {
        scf.for %j = %one to %n step %one iter_args(%o = %none) -> (!x) {
          %k = sm.consumer_wait %keys[%zero] phase %zero : !ch
          %f0 = sm.wgmma %q, %k depth 64 : !t, !t -> !f
          %s = sm.await %f0 : !f
          sm.release %keys[%zero] : !ch
          %p = arith.truncf %s : !x to tensor<64x64xbf16, #c>
          %packed = sm.pack %p : tensor<64x64xbf16, #c> -> tensor<64x32xi32, #words>
          %v = sm.consumer_wait %values[%zero] phase %zero : !ch
          %f1 = sm.wgmma %packed, %v depth 64 acc %o : tensor<64x32xi32, #words>, !t, !x -> !f
          %sum = sm.await %f1 : !f
          sm.release %values[%zero] : !ch
          scf.yield %sum : !x
        }
      }
      load warps 1 registers 32 {
      }
    }
    return
  }

  // CHECK-LABEL: @obstacles
  // CHECK: } {tile.steps = "p0"}
  // CHECK: } {tile.steps = "p0 p1"}
  func.func @obstacles(%n: index, %one: index, %q: !t, %y: !tile.view<2xf32>) {
    sm.roles {
      compute warps 4 registers 232 {
        // expected-remark @+1 {{overlap=pingpong has no effect on this loop, whose MMAs follow each other: the loop has fewer than two MMAs}}
        scf.for %j = %one to %n step %one {
          %f0 = sm.wgmma %q, %q depth 64 : !t, !t -> !f
          %s = sm.await %f0 : !f
        }
        // expected-remark @+1 {{whose MMAs follow each other: the iteration itself needs the accumulator of its last MMA}}
        scf.for %j = %one to %n step %one {
          %f0 = sm.wgmma %q, %q depth 64 : !t, !t -> !f
          %s = sm.await %f0 : !f
          %f1 = sm.wgmma %q, %q depth 64 acc %s : !t, !t, !x -> !f
          %o = sm.await %f1 : !f
          tile.atomic_add %o, %y[%j, %one] : !x, !tile.view<2xf32>
        }
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>
#words = #sm.layout<registers = [0:2:8, 1:8:4], lanes = [1:4:1, 0:8:1], warps = [0:8:16]>
#v = #sm.layout<registers = [1:2:1, 0:8:8], lanes = [1:32:2], warps = [0:8:1]>
!q = !sm.shared<128x64xbf16, 128>
!t = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<128x64xf32, #c>>
!x = tensor<128x64xf32, #c>
!ch = !sm.channel<2, !t>

// Several warpgroups take turns: at the MMAs that start together, or at the tile that they exchange, whose reader then
// comes one iteration late.
module attributes {tile.overlap = "pingpong", tile.num_warps = 8 : i64} {
  // CHECK-LABEL: @two_warpgroups
  // CHECK: } {tile.steps = "< p0 p1@1 >"}
  // CHECK: } {tile.steps = "p0 < p1.rhs > p1@1"}
  func.func @two_warpgroups(%n: index, %one: index, %zero: i32, %none: !x, %y: tensor<64x64xbf16, #v>,
                            %r: !sm.shared<2x64x64xbf16, 128>, %qring: !sm.shared<1x128x64xbf16, 128>) {
    %queries = sm.channel %qring from load to [compute] : !sm.channel<1, !q>
    %keys = sm.channel %r from load to [compute] : !ch
    %values = sm.channel %r from load to [compute] : !ch
    sm.roles {
      compute warps 8 registers 232 {
        %q = sm.consumer_wait %queries[%zero] phase %zero : !sm.channel<1, !q>
        scf.for %j = %one to %n step %one iter_args(%o = %none) -> (!x) {
          %k = sm.consumer_wait %keys[%zero] phase %zero : !ch
          %f0 = sm.wgmma %q, %k depth 64 : !q, !t -> !f
          %s = sm.await %f0 : !f
          sm.release %keys[%zero] : !ch
          %p = arith.truncf %s : !x to tensor<128x64xbf16, #c>
          %packed = sm.pack %p : tensor<128x64xbf16, #c> -> tensor<128x32xi32, #words>
          %v = sm.consumer_wait %values[%zero] phase %zero : !ch
          %f1 = sm.wgmma %packed, %v depth 64 acc %o : tensor<128x32xi32, #words>, !t, !x -> !f
          %sum = sm.await %f1 : !f
          sm.release %values[%zero] : !ch
          scf.yield %sum : !x
        }
        scf.for %j = %one to %n step %one iter_args(%o = %none) -> (!x) {
          %k = sm.consumer_wait %keys[%zero] phase %zero : !ch
          %f0 = sm.wgmma %q, %k depth 64 : !q, !t -> !f
          %s = sm.await %f0 : !f
          sm.release %keys[%zero] : !ch
          %p = arith.truncf %s : !x to tensor<128x64xbf16, #c>
          %packed = sm.pack %p : tensor<128x64xbf16, #c> -> tensor<128x32xi32, #words>
          %v = sm.to_shared %y : tensor<64x64xbf16, #v> -> !t
          %f1 = sm.wgmma %packed, %v depth 64 acc %o : tensor<128x32xi32, #words>, !t, !x -> !f
          %sum = sm.await %f1 : !f
          scf.yield %sum : !x
        }
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}
