// RUN: tegula-opt --plan-steps --exchange-tiles --pipeline-loops --split-input-file --verify-diagnostics %s | FileCheck %s

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>
#words = #sm.layout<registers = [0:2:8, 1:8:4], lanes = [1:4:1, 0:8:1], warps = [0:8:16]>

// The first iteration has no second MMA, later iterations have that of the previous iteration, and one is left after
// the loop. In the first iteration the carried values are constants: half of 0 is 0. Comparisons with the first
// iteration are constants in all of them.
// CHECK-LABEL: func @two_products
// CHECK: compute
// CHECK: sm.sequence_init
// CHECK: %[[Q:.*]] = sm.consumer_wait
// CHECK: scf.if
// CHECK: sm.wgmma %[[Q]]
// CHECK: sm.await
// CHECK-NOT: arith.mulf
// CHECK: %[[P0:.*]] = sm.pack
// CHECK: %[[LAST:.*]]:4 = scf.for {{.*}} iter_args({{.*}}, %[[P:.*]] = %[[P0]], %[[SUM:.*]] = %cst)
// CHECK-NEXT: %[[K:.*]] = sm.consumer_wait
// CHECK-NEXT: sm.sequence_wait
// CHECK-NEXT: %[[S:.*]] = sm.wgmma %[[Q]], %[[K]]
// CHECK: %[[V:.*]] = sm.consumer_wait
// CHECK-NEXT: %[[O:.*]] = sm.wgmma %[[P]], %[[V]] depth 64 acc %[[SUM]]
// CHECK-NEXT: sm.sequence_arrive
// CHECK-NEXT: %[[SCORES:.*]] = sm.await %[[S]]
// CHECK-NEXT: sm.release
// Ops that need the accumulator, or that overwrite an operand of the running MMA, come after its wait:
// CHECK-NEXT: %[[E:.*]] = math.exp2 %[[SCORES]]
// CHECK-NEXT: %[[HALF:.*]] = arith.mulf %[[E]]
// CHECK: %[[OUTPUT:.*]] = sm.await %[[O]]
// CHECK-NEXT: sm.release
// CHECK: arith.truncf %[[HALF]]
// CHECK: sm.pack
// CHECK: arith.mulf %[[OUTPUT]]
// CHECK: scf.yield
// CHECK: sm.wgmma %[[LAST]]#2
// CHECK: sm.await
// No tile follows that needs the slot of the last one, so it is not released.
// CHECK-NOT: sm.release
// CHECK: } else {
module attributes {tile.overlap = "pingpong", tile.num_warps = 8 : i64} {
  func.func @two_products(%n: index) {
    %qring = sm.alloc : !sm.shared<1x128x64xbf16, 128>
    %qb = sm.channel %qring from load to [compute] : !sm.channel<1, !sm.shared<128x64xbf16, 128>>
    %kring = sm.alloc : !sm.shared<1x64x64xbf16, 128>
    %kb = sm.channel %kring from load to [compute] : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
    %vring = sm.alloc : !sm.shared<1x64x64xbf16, 128>
    %vb = sm.channel %vring from load to [compute] : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
    sm.roles {
      compute warps 8 registers 232 {
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %none = arith.constant dense<0.0> : tensor<128x64xf32, #c>
        %half = arith.constant dense<0.5> : tensor<128x64xf32, #c>
        %q = sm.consumer_wait %qb[%zero] phase %zero : !sm.channel<1, !sm.shared<128x64xbf16, 128>>
        %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %none, %phase = %zero)
            -> (tensor<128x64xf32, #c>, i32) {
          %k = sm.consumer_wait %kb[%zero] phase %phase : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
          %f = sm.wgmma %q, %k depth 64 {transpose_rhs}
            : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !sm.inflight<tensor<128x64xf32, #c>>
          %s = sm.await %f : !sm.inflight<tensor<128x64xf32, #c>>
          sm.release %kb[%zero] : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
          %v = sm.consumer_wait %vb[%zero] phase %phase : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
          %e = math.exp2 %s : tensor<128x64xf32, #c>
          %later = arith.cmpi ne, %j, %c0 : index
          %weights = scf.if %later -> tensor<128x64xf32, #c> {
            %less = arith.mulf %e, %half : tensor<128x64xf32, #c>
            scf.yield %less : tensor<128x64xf32, #c>
          } else {
            scf.yield %e : tensor<128x64xf32, #c>
          }
          %p = arith.truncf %weights : tensor<128x64xf32, #c> to tensor<128x64xbf16, #c>
          %words = sm.pack %p : tensor<128x64xbf16, #c> -> tensor<128x32xi32, #words>
          %scaled = arith.mulf %o, %half : tensor<128x64xf32, #c>
          %g = sm.wgmma %words, %v depth 64 acc %scaled
            : tensor<128x32xi32, #words>, !sm.shared<64x64xbf16, 128>, tensor<128x64xf32, #c>
            -> !sm.inflight<tensor<128x64xf32, #c>>
          %next = sm.await %g : !sm.inflight<tensor<128x64xf32, #c>>
          sm.release %vb[%zero] : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
          %other = arith.xori %phase, %one : i32
          scf.yield %next, %other : tensor<128x64xf32, #c>, i32
        }
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

// CHECK-LABEL: func @no_products
// CHECK-NOT: sm.sequence_init
module attributes {tile.overlap = "pingpong", tile.num_warps = 4 : i64} {
  func.func @no_products() {
    // expected-remark @+1 {{overlap=pingpong has no effect: no loop has an MMA of whole warpgroups (wgmma)}}
    sm.roles {
      compute warps 4 registers 232 {
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
#v = #sm.layout<registers = [1:16:1], lanes = [1:4:16, 0:8:1], warps = [0:8:8]>

// The last MMA reads a tile that the iteration computes. It comes one iteration late, and the warpgroups exchange the
// tile through three slots, because the store of a tile passes the turn. The first iteration takes a turn, too.
// CHECK-LABEL: func @computed_right_operand
// CHECK: %[[RING:.*]] = sm.alloc : !sm.shared<3x64x64xbf16, 128>
// CHECK: %[[STORED:.*]] = sm.channel {{.*}}: !sm.channel<3
// CHECK: scf.if
// CHECK: sm.sequence_wait stores %[[STORED]]
// CHECK: sm.producer_store
// CHECK: scf.for
// CHECK: %[[F:.*]] = sm.wgmma
// CHECK: sm.sequence_wait stores %[[STORED]][%[[SLOT:.*]]] phase %[[PHASE:[a-z0-9]+]]
// CHECK: sm.producer_store %{{.*}}, %[[STORED]][%[[SLOT]]] phase %[[PHASE]]
// CHECK-NOT: %[[STORED]][%[[SLOT]]]
// The turn implies that the tile of the iteration before is there. After the loop, there is no turn.
// CHECK: %[[V:.*]] = sm.consumer_wait %[[STORED]][{{.*}}] phase %{{.*}} already_full
// CHECK: sm.wgmma %{{.*}}, %[[V]]
// CHECK: scf.yield {{.*}}%[[SLOT]], %[[PHASE]],
// CHECK: tile.steps = "p0 < p1.rhs > p1@1"
// CHECK: sm.consumer_wait
// CHECK-NOT: already_full
// CHECK: sm.wgmma
// CHECK-NOT: sm.sequence_init
module attributes {tile.overlap = "pingpong", tile.num_warps = 8 : i64} {
  func.func @computed_right_operand(%n: index, %q: !sm.shared<128x64xbf16, 128>) {
    %kring = sm.alloc : !sm.shared<1x64x64xbf16, 128>
    %kb = sm.channel %kring from load to [compute] : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
    sm.roles {
      compute warps 8 registers 232 {
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %none = arith.constant dense<0.0> : tensor<128x64xf32, #c>
        %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %none, %phase = %zero)
            -> (tensor<128x64xf32, #c>, i32) {
          %k = sm.consumer_wait %kb[%zero] phase %phase : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
          %f = sm.wgmma %q, %k depth 64 {transpose_rhs}
            : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !sm.inflight<tensor<128x64xf32, #c>>
          %s = sm.await %f : !sm.inflight<tensor<128x64xf32, #c>>
          %p = arith.truncf %s : tensor<128x64xf32, #c> to tensor<128x64xbf16, #c>
          %words = sm.pack %p : tensor<128x64xbf16, #c> -> tensor<128x32xi32, #words>
          %values = sm.read %k : !sm.shared<64x64xbf16, 128> -> tensor<64x64xbf16, #v>
          %doubled = arith.addf %values, %values : tensor<64x64xbf16, #v>
          %v = sm.to_shared %doubled : tensor<64x64xbf16, #v> -> !sm.shared<64x64xbf16, 128>
          %g = sm.wgmma %words, %v depth 64 acc %o
            : tensor<128x32xi32, #words>, !sm.shared<64x64xbf16, 128>, tensor<128x64xf32, #c>
            -> !sm.inflight<tensor<128x64xf32, #c>>
          %next = sm.await %g : !sm.inflight<tensor<128x64xf32, #c>>
          sm.release %kb[%zero] : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
          %other = arith.xori %phase, %one : i32
          scf.yield %next, %other : tensor<128x64xf32, #c>, i32
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

// The last MMA reads a tile that an earlier MMA of the iteration reads, too. The consumer wait for this slot cannot
// come later for only one of them.
// CHECK-LABEL: func @tile_of_two_products
// CHECK-NOT: scf.if
// CHECK: scf.for
// CHECK: %[[K:.*]] = sm.consumer_wait
// CHECK: sm.wgmma %{{.*}}, %[[K]]
// CHECK: sm.await
// CHECK: sm.wgmma %{{.*}}, %[[K]]
// CHECK: sm.await
module attributes {tile.overlap = "pingpong", tile.num_warps = 8 : i64} {
  func.func @tile_of_two_products(%n: index, %q: !sm.shared<128x64xbf16, 128>) {
    %kring = sm.alloc : !sm.shared<1x64x64xbf16, 128>
    %kb = sm.channel %kring from load to [compute] : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
    sm.roles {
      compute warps 8 registers 232 {
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %none = arith.constant dense<0.0> : tensor<128x64xf32, #c>
        // expected-remark @+1 {{overlap=pingpong has no effect on this loop, whose MMAs follow each other: the last MMA reads a tile of shared memory that the next iteration may overwrite}}
        %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %none, %phase = %zero)
            -> (tensor<128x64xf32, #c>, i32) {
          %k = sm.consumer_wait %kb[%zero] phase %phase : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
          %f = sm.wgmma %q, %k depth 64 {transpose_rhs}
            : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !sm.inflight<tensor<128x64xf32, #c>>
          %s = sm.await %f : !sm.inflight<tensor<128x64xf32, #c>>
          %p = arith.truncf %s : tensor<128x64xf32, #c> to tensor<128x64xbf16, #c>
          %words = sm.pack %p : tensor<128x64xbf16, #c> -> tensor<128x32xi32, #words>
          %g = sm.wgmma %words, %k depth 64 acc %o
            : tensor<128x32xi32, #words>, !sm.shared<64x64xbf16, 128>, tensor<128x64xf32, #c>
            -> !sm.inflight<tensor<128x64xf32, #c>>
          %next = sm.await %g : !sm.inflight<tensor<128x64xf32, #c>>
          sm.release %kb[%zero] : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
          %other = arith.xori %phase, %one : i32
          scf.yield %next, %other : tensor<128x64xf32, #c>, i32
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

// A matrix product: two MMAs are in flight on the same accumulators. A slot is released when the MMA of the iteration
// before has read it.
// CHECK-LABEL: func @one_product
// CHECK: scf.if
// CHECK: %[[FIRST:.*]] = sm.wgmma
// CHECK-NOT: sm.await
// CHECK: %[[LAST:.*]]:4 = scf.for {{.*}} iter_args(%[[G:.*]] = %[[FIRST]], {{.*}}, %[[BEFORE:.*]] = %{{.*}})
// CHECK: %[[A:.*]] = sm.consumer_wait
// CHECK: %[[B:.*]] = sm.consumer_wait
// CHECK: %[[F:.*]] = sm.wgmma %[[A]], %[[B]] depth 64 acc %[[G]]
// CHECK-NEXT: sm.await reads %[[G]]
// CHECK-NEXT: sm.release %{{.*}}[%[[BEFORE]]]
// CHECK-NEXT: sm.release %{{.*}}[%[[BEFORE]]]
// CHECK: scf.yield %[[F]],
// CHECK: tile.steps = "p0 p0.end@1"
// CHECK: sm.await %[[LAST]]#0
module attributes {tile.num_warps = 4 : i64} {
  func.func @one_product(%n: index) {
    %aring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    %ab = sm.channel %aring from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    %bring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    %bb = sm.channel %bring from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    sm.roles {
      compute warps 4 registers 232 {
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %none = arith.constant dense<0.0> : tensor<64x64xf32, #c>
        %r:3 = scf.for %j = %c0 to %n step %c64 iter_args(%sum = %none, %slot = %zero, %phase = %zero)
            -> (tensor<64x64xf32, #c>, i32, i32) {
          %a = sm.consumer_wait %ab[%slot] phase %phase : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
          %b = sm.consumer_wait %bb[%slot] phase %phase : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
          %f = sm.wgmma %a, %b depth 64 acc %sum
            : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
            -> !sm.inflight<tensor<64x64xf32, #c>>
          %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
          sm.release %ab[%slot] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
          sm.release %bb[%slot] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
          %next = arith.xori %slot, %one : i32
          %nextPhase = arith.xori %phase, %slot : i32
          scf.yield %s, %next, %nextPhase : tensor<64x64xf32, #c>, i32, i32
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

// The first and the third MMA wait for nothing, so they start together.
// CHECK-LABEL: func @independent_products
// CHECK: scf.for
// CHECK: %[[S:.*]] = sm.wgmma
// CHECK-NEXT: %[[T:.*]] = sm.wgmma
// CHECK-NEXT: sm.await %[[S]]
// CHECK: math.exp2
// CHECK: sm.wgmma
// CHECK: sm.await %[[T]]
// CHECK: tile.steps = "s t u"
module attributes {tile.num_warps = 4 : i64} {
  func.func @independent_products(%n: index, %one: index, %a: !t, %b: !t, %none: tensor<64x64xf32, #c>,
                                  %words: tensor<64x32xi32, #c>) {
    sm.roles {
      compute warps 4 registers 232 {
        %r:2 = scf.for %j = %one to %n step %one iter_args(%x = %none, %y = %none)
            -> (tensor<64x64xf32, #c>, tensor<64x64xf32, #c>) {
          %f = sm.wgmma %a, %b depth 64 {tile.label = "s"} : !t, !t -> !f
          %s = sm.await %f : !f
          %e = math.exp2 %s : tensor<64x64xf32, #c>
          %g = sm.wgmma %b, %a depth 64 acc %e {tile.label = "u"} : !t, !t, tensor<64x64xf32, #c> -> !f
          %u = sm.await %g : !f
          %h = sm.wgmma %a, %a depth 64 {tile.label = "t"} : !t, !t -> !f
          %t = sm.await %h : !f
          scf.yield %u, %t : tensor<64x64xf32, #c>, tensor<64x64xf32, #c>
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
!channel = !sm.channel<2, !t>

// The list starts the second MMA first, but the producer loads its tile after those of the inner loop, for which it needs
// slots that only the inner loop releases.
// CHECK-LABEL: func @tile_after_a_loop
// CHECK: scf.for
// CHECK-NEXT: scf.for
// CHECK: sm.release
// CHECK: sm.consumer_wait
// CHECK-NEXT: %[[SECOND:.*]] = sm.wgmma
// CHECK-NEXT: sm.wgmma
// CHECK-NEXT: sm.await %[[SECOND]]
module attributes {tile.num_warps = 4 : i64} {
  func.func @tile_after_a_loop(%n: index, %one: index, %ring: !sm.shared<2x64x64xbf16, 128>, %a: !t, %zero: i32,
                               %none: tensor<64x64xf32, #c>) {
    %inner = sm.channel %ring from load to [compute] : !channel
    %outer = sm.channel %ring from load to [compute] : !channel
    sm.roles {
      compute warps 4 registers 232 {
        %r:2 = scf.for %i = %one to %n step %one iter_args(%x = %none, %y = %none)
            -> (tensor<64x64xf32, #c>, tensor<64x64xf32, #c>) {
          %f = sm.wgmma %a, %a depth 64 : !t, !t -> !f
          %s = sm.await %f : !f
          scf.for %j = %one to %n step %one {
            %k = sm.consumer_wait %inner[%zero] phase %zero : !channel
            sm.release %inner[%zero] per_warp : !channel
          }
          %q = sm.consumer_wait %outer[%zero] phase %zero : !channel
          %g = sm.wgmma %q, %q depth 64 : !t, !t -> !f
          %t = sm.await %g : !f
          sm.release %outer[%zero] : !channel
          scf.yield %s, %t : tensor<64x64xf32, #c>, tensor<64x64xf32, #c>
        } {tile.steps = "p1 p0"}
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
#v = #sm.layout<registers = [1:16:1], lanes = [1:4:16, 0:8:1], warps = [0:8:8]>
#w = #sm.layout<registers = [1:2:1, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:8]>
!tile = !sm.shared<64x64xbf16, 128>
!channel = !sm.channel<2, !tile>

// The fence of the stored tile serves the release of the slot that lanes have read, so the release comes after the store.
// It does not draw the store out of its turn, in which no warp waits for the warps of other warpgroups.
// CHECK-LABEL: func @release_after_a_turn
// CHECK: scf.for
// CHECK: sm.convert
// CHECK: sm.sequence_wait stores
// CHECK-NOT: sm.convert
// CHECK: sm.producer_store
// CHECK: sm.release {{.*}} per_warp
module attributes {tile.overlap = "pingpong", tile.num_warps = 8 : i64} {
  func.func @release_after_a_turn(%n: index, %q: !sm.shared<128x64xbf16, 128>, %ring: !sm.shared<2x64x64xbf16, 128>) {
    %keys = sm.channel %ring from load to [compute] : !channel
    %others = sm.channel %ring from load to [compute] : !channel
    sm.roles {
      compute warps 8 registers 232 {
        %zero = arith.constant 0 : i32
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %none = arith.constant dense<0.0> : tensor<128x64xf32, #c>
        %r = scf.for %j = %c0 to %n step %c64 iter_args(%o = %none) -> (tensor<128x64xf32, #c>) {
          %k = sm.consumer_wait %keys[%zero] phase %zero : !channel
          %f = sm.wgmma %q, %k depth 64 {transpose_rhs}
            : !sm.shared<128x64xbf16, 128>, !tile -> !sm.inflight<tensor<128x64xf32, #c>>
          %s = sm.await %f : !sm.inflight<tensor<128x64xf32, #c>>
          sm.release %keys[%zero] : !channel
          %p = arith.truncf %s : tensor<128x64xf32, #c> to tensor<128x64xbf16, #c>
          %words = sm.pack %p : tensor<128x64xbf16, #c> -> tensor<128x32xi32, #words>
          %slot = sm.consumer_wait %others[%zero] phase %zero : !channel
          %values = sm.read %slot : !tile -> tensor<64x64xbf16, #v>
          sm.proxy_fence
          sm.release %others[%zero] per_warp : !channel
          %converted = sm.convert %values : tensor<64x64xbf16, #v> -> tensor<64x64xbf16, #w>
          %v = sm.to_shared %converted : tensor<64x64xbf16, #w> -> !tile
          %g = sm.wgmma %words, %v depth 64 acc %o
            : tensor<128x32xi32, #words>, !tile, tensor<128x64xf32, #c> -> !sm.inflight<tensor<128x64xf32, #c>>
          %next = sm.await %g : !sm.inflight<tensor<128x64xf32, #c>>
          scf.yield %next : tensor<128x64xf32, #c>
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
#v = #sm.layout<registers = [1:2:1, 0:8:8], lanes = [1:32:2], warps = [0:8:1]>

// A turn encloses the stores of both tiles, also of the one that the program computes first. The last one passes it.
// CHECK-LABEL: func @turn_of_two_stores
// CHECK: scf.for
// CHECK-NOT: sm.producer_store
// CHECK: sm.sequence_wait stores %[[LAST:.*]][
// CHECK: sm.producer_store
// CHECK: sm.producer_store %{{.*}}, %[[LAST]][
// CHECK: tile.steps = "< p0.rhs p1.rhs > p0@1 p1@1"
module attributes {tile.overlap = "pingpong", tile.num_warps = 8 : i64} {
  func.func @turn_of_two_stores(%n: index, %q: !sm.shared<128x64xbf16, 128>, %x: tensor<64x64xbf16, #v>,
                                %y: tensor<64x64xbf16, #v>) {
    sm.roles {
      compute warps 8 registers 232 {
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %none = arith.constant dense<0.0> : tensor<128x64xf32, #c>
        %r:3 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %none, %a = %x, %b = %y)
            -> (tensor<128x64xf32, #c>, tensor<64x64xbf16, #v>, tensor<64x64xbf16, #v>) {
          %second = arith.addf %b, %y : tensor<64x64xbf16, #v>
          %v1 = sm.to_shared %second : tensor<64x64xbf16, #v> -> !sm.shared<64x64xbf16, 128>
          %first = arith.addf %a, %x : tensor<64x64xbf16, #v>
          %v0 = sm.to_shared %first : tensor<64x64xbf16, #v> -> !sm.shared<64x64xbf16, 128>
          %f = sm.wgmma %q, %v0 depth 64 acc %o
            : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<128x64xf32, #c>
            -> !sm.inflight<tensor<128x64xf32, #c>>
          %s = sm.await %f : !sm.inflight<tensor<128x64xf32, #c>>
          %g = sm.wgmma %q, %v1 depth 64 acc %s
            : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<128x64xf32, #c>
            -> !sm.inflight<tensor<128x64xf32, #c>>
          %next = sm.await %g : !sm.inflight<tensor<128x64xf32, #c>>
          scf.yield %next, %first, %second : tensor<128x64xf32, #c>, tensor<64x64xbf16, #v>, tensor<64x64xbf16, #v>
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

// The MMA that reads the only slot of a ring starts before the one that reads none, although the program has them the
// other way around and more of the iteration waits for that one. The slot is released while the other MMA runs.
// CHECK-LABEL: func @only_slot_first
// CHECK: scf.for
// CHECK: %[[K:.*]] = sm.consumer_wait
// CHECK: %[[READS:.*]] = sm.wgmma %{{.*}}, %[[K]]
// CHECK-NEXT: %[[OTHER:.*]] = sm.wgmma
// CHECK-NEXT: sm.await %[[READS]]
// CHECK-NEXT: sm.release
// CHECK: sm.await %[[OTHER]]
// CHECK: tile.steps = "p1 p0"
module attributes {tile.num_warps = 4 : i64} {
  func.func @only_slot_first(%n: index, %q: !sm.shared<64x64xbf16, 128>, %w: !sm.shared<64x64xbf16, 128>) {
    %kring = sm.alloc : !sm.shared<1x64x64xbf16, 128>
    %kb = sm.channel %kring from load to [compute] : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
    sm.roles {
      compute warps 4 registers 232 {
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %none = arith.constant dense<0.0> : tensor<64x64xf32, #c>
        %r:3 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %none, %p = %none, %phase = %zero)
            -> (tensor<64x64xf32, #c>, tensor<64x64xf32, #c>, i32) {
          %f = sm.wgmma %q, %w depth 64 acc %o
            : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
            -> !sm.inflight<tensor<64x64xf32, #c>>
          %s = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
          %s2 = arith.addf %s, %s : tensor<64x64xf32, #c>
          %s4 = arith.addf %s2, %s2 : tensor<64x64xf32, #c>
          %s8 = arith.addf %s4, %s4 : tensor<64x64xf32, #c>
          %k = sm.consumer_wait %kb[%zero] phase %phase : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
          %g = sm.wgmma %q, %k depth 64 acc %p
            : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
            -> !sm.inflight<tensor<64x64xf32, #c>>
          %t = sm.await %g : !sm.inflight<tensor<64x64xf32, #c>>
          sm.release %kb[%zero] : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
          %other = arith.xori %phase, %one : i32
          scf.yield %s8, %t, %other : tensor<64x64xf32, #c>, tensor<64x64xf32, #c>, i32
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

// The registers that the second of two MMAs reads are packed before the first one starts, so that both need one fence.
// CHECK-LABEL: func @packed_before_the_first
// CHECK: scf.for
// CHECK: sm.await
// CHECK-COUNT-2: sm.pack
// CHECK-NEXT: sm.wgmma
// CHECK-NEXT: sm.wgmma
module attributes {tile.num_warps = 4 : i64} {
  func.func @packed_before_the_first(%n: index, %q: !sm.shared<64x64xbf16, 128>, %w: !sm.shared<64x64xbf16, 128>) {
    sm.roles {
      compute warps 4 registers 232 {
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %none = arith.constant dense<0.0> : tensor<64x64xf32, #c>
        %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %none, %p = %none)
            -> (tensor<64x64xf32, #c>, tensor<64x64xf32, #c>) {
          %e = sm.wgmma %q, %w depth 64 : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>
            -> !sm.inflight<tensor<64x64xf32, #c>>
          %s = sm.await %e : !sm.inflight<tensor<64x64xf32, #c>>
          %h = arith.truncf %s : tensor<64x64xf32, #c> to tensor<64x64xbf16, #c>
          %first = sm.pack %h : tensor<64x64xbf16, #c> -> tensor<64x32xi32, #words>
          %f = sm.wgmma %first, %w depth 64 acc %o
            : tensor<64x32xi32, #words>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
            -> !sm.inflight<tensor<64x64xf32, #c>>
          %t = sm.await %f : !sm.inflight<tensor<64x64xf32, #c>>
          %twice = arith.addf %s, %s : tensor<64x64xf32, #c>
          %h2 = arith.truncf %twice : tensor<64x64xf32, #c> to tensor<64x64xbf16, #c>
          %second = sm.pack %h2 : tensor<64x64xbf16, #c> -> tensor<64x32xi32, #words>
          %g = sm.wgmma %second, %w depth 64 acc %p
            : tensor<64x32xi32, #words>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
            -> !sm.inflight<tensor<64x64xf32, #c>>
          %u = sm.await %g : !sm.inflight<tensor<64x64xf32, #c>>
          scf.yield %t, %u : tensor<64x64xf32, #c>, tensor<64x64xf32, #c>
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
!two = !sm.channel<2, !t>

// The tile of the second MMA comes after those of the inner loop, so its wait does, too. The inner loop is pipelined
// first, and then lies in a branch.
// CHECK-LABEL: func @tile_after_an_inner_loop
// CHECK: %[[W:.*]] = sm.channel
// CHECK: scf.for
// CHECK: scf.if
// CHECK: scf.for
// CHECK: tile.pipelined
// CHECK: sm.consumer_wait %[[W]]
// CHECK: tile.steps = "p0 p1"
module attributes {tile.num_warps = 4 : i64} {
  func.func @tile_after_an_inner_loop(%n: index, %zero: i32, %q: !t, %r: !sm.shared<2x64x64xbf16, 128>) {
    %w = sm.channel %r from load to [compute] : !two
    %v = sm.channel %r from load to [compute] : !two
    sm.roles {
      compute warps 4 registers 232 {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %one = arith.constant 1 : i32
        %none = arith.constant dense<0.0> : tensor<64x64xf32, #c>
        %sums:2 = scf.for %i = %c0 to %n step %c1 iter_args(%o = %none, %p = %none)
            -> (tensor<64x64xf32, #c>, tensor<64x64xf32, #c>) {
          %e = sm.wgmma %q, %q depth 64 acc %p : !t, !t, tensor<64x64xf32, #c> -> !f
          %s = sm.await %e : !f
          %inner:2 = scf.for %j = %c0 to %n step %c1 iter_args(%part = %s, %slot = %zero)
              -> (tensor<64x64xf32, #c>, i32) {
            %b = sm.consumer_wait %v[%slot] phase %zero : !two
            %g = sm.wgmma %b, %b depth 64 acc %part : !t, !t, tensor<64x64xf32, #c> -> !f
            %a = sm.await %g : !f
            sm.release %v[%slot] : !two
            %other = arith.xori %slot, %one : i32
            scf.yield %a, %other : tensor<64x64xf32, #c>, i32
          }
          %k = sm.consumer_wait %w[%zero] phase %zero : !two
          %h = sm.wgmma %k, %k depth 64 acc %o : !t, !t, tensor<64x64xf32, #c> -> !f
          %next = sm.await %h : !f
          sm.release %w[%zero] : !two
          scf.yield %next, %inner#0 : tensor<64x64xf32, #c>, tensor<64x64xf32, #c>
        }
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}
