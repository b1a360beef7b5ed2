// RUN: tegula-opt %s --end-warpgroups-early --canonicalize --cse --split-input-file | FileCheck %s

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

// The first warpgroup skips iterations that its 64 rows do not see, but at most one: the producer fills only one more
// slot without it. It takes and passes the mutex for the skipped iterations. The second warpgroup runs all iterations.
// CHECK-LABEL: func @two_slots
// CHECK-SAME: (%[[N:[a-z0-9]*]]: index, %[[FIRST:[a-z0-9]*]]: index
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C63:.*]] = arith.constant 63 : index
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : index
// CHECK: compute
// CHECK: %[[GROUP:.*]] = sm.warpgroup : index
// CHECK: %[[ROUNDED:.*]] = arith.addi %[[N]], %[[C63]] : index
// CHECK: %[[ITERATIONS:.*]] = arith.divsi %[[ROUNDED]], %[[C64]] : index
// CHECK: %[[ALL:.*]] = arith.maxsi %[[ITERATIONS]], %[[C0]] : index
// CHECK: %[[GROUPS:.*]] = arith.addi %[[GROUP]], %[[C1]] : index
// CHECK: %[[ROWS:.*]] = arith.muli %[[GROUPS]], %[[C64]] : index
// CHECK: %[[SEEN:.*]] = arith.addi %[[FIRST]], %[[ROWS]] : index
// CHECK: %[[SEEN_ROUNDED:.*]] = arith.addi %[[SEEN]], %[[C63]] : index
// CHECK: %[[NEEDED:.*]] = arith.divsi %[[SEEN_ROUNDED]], %[[C64]] : index
// CHECK: %[[NOT_NEGATIVE:.*]] = arith.maxsi %[[NEEDED]], %[[C0]] : index
// CHECK: %[[EARLY:.*]] = arith.minsi %[[NOT_NEGATIVE]], %[[ALL]] : index
// CHECK: %[[IS_LAST:.*]] = arith.cmpi eq, %[[GROUP]], %[[C1]] : index
// CHECK: %[[LEAST:.*]] = arith.subi %[[ALL]], %[[C1]] : index
// CHECK: %[[MOST:.*]] = arith.maxsi %[[EARLY]], %[[LEAST]] : index
// CHECK: %[[OWN:.*]] = arith.select %[[IS_LAST]], %[[ALL]], %[[MOST]] : index
// CHECK: %[[BOUND:.*]] = arith.muli %[[OWN]], %[[C64]] : index
// CHECK: scf.for %{{.*}} = %[[C0]] to %[[BOUND]] step %[[C64]]
// CHECK: sm.wgmma
// CHECK: scf.for %{{.*}} = %[[OWN]] to %[[ALL]] step %[[C1]] {
// CHECK-NEXT: sm.sequence_wait
// CHECK-NEXT: sm.sequence_arrive
module attributes {tile.num_warps = 8 : i64} {
  func.func @two_slots(%n: index, %first: index) {
    %qring = sm.alloc : !sm.shared<1x128x64xbf16, 128>
    %kring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    %kb = sm.channel %kring from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    sm.roles {
      compute warps 8 registers 232 {
        sm.sequence_init
        %zero = arith.constant 0 : i32
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %q = sm.slot %qring[%zero] : !sm.shared<1x128x64xbf16, 128> -> !sm.shared<128x64xbf16, 128>
        %end = sm.row_limit %n first %first : index
        scf.for %j = %c0 to %end step %c64 {
          %k = sm.consumer_wait %kb[%zero] phase %zero : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
          sm.sequence_wait
          %f = sm.wgmma %q, %k depth 64 {transpose_rhs} : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !sm.inflight<tensor<128x64xf32, #c>>
          sm.sequence_arrive
          %s = sm.await %f : !sm.inflight<tensor<128x64xf32, #c>>
          sm.release %kb[%zero] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
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

// A ring of one slot: the producer would wait for the slot of the skipped tile, so no iteration is skipped.
// CHECK-LABEL: func @one_slot
// CHECK-SAME: (%[[N:[a-z0-9]*]]: index,
// CHECK-NOT: sm.row_limit
// CHECK: scf.for %{{.*}} to %[[N]]
module attributes {tile.num_warps = 8 : i64} {
  func.func @one_slot(%n: index, %first: index) {
    %qring = sm.alloc : !sm.shared<1x128x64xbf16, 128>
    %kring = sm.alloc : !sm.shared<1x64x64xbf16, 128>
    %kb = sm.channel %kring from load to [compute] : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
    sm.roles {
      compute warps 8 registers 232 {
        %zero = arith.constant 0 : i32
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %q = sm.slot %qring[%zero] : !sm.shared<1x128x64xbf16, 128> -> !sm.shared<128x64xbf16, 128>
        %end = sm.row_limit %n first %first : index
        scf.for %j = %c0 to %end step %c64 {
          %k = sm.consumer_wait %kb[%zero] phase %zero : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
          %f = sm.wgmma %q, %k depth 64 {transpose_rhs} : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !sm.inflight<tensor<128x64xf32, #c>>
          %s = sm.await %f : !sm.inflight<tensor<128x64xf32, #c>>
          sm.release %kb[%zero] : !sm.channel<1, !sm.shared<64x64xbf16, 128>>
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

// A barrier of all consumers in the loop forbids skipping iterations.
// CHECK-LABEL: func @with_a_barrier
// CHECK-SAME: (%[[N:[a-z0-9]*]]: index,
// CHECK-NOT: sm.row_limit
// CHECK: scf.for %{{.*}} to %[[N]]
module attributes {tile.num_warps = 8 : i64} {
  func.func @with_a_barrier(%n: index, %first: index) {
    %qring = sm.alloc : !sm.shared<1x128x64xbf16, 128>
    %kring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    %kb = sm.channel %kring from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    sm.roles {
      compute warps 8 registers 232 {
        %zero = arith.constant 0 : i32
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %q = sm.slot %qring[%zero] : !sm.shared<1x128x64xbf16, 128> -> !sm.shared<128x64xbf16, 128>
        %end = sm.row_limit %n first %first : index
        scf.for %j = %c0 to %end step %c64 {
          %k = sm.consumer_wait %kb[%zero] phase %zero : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
          %f = sm.wgmma %q, %k depth 64 {transpose_rhs} : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !sm.inflight<tensor<128x64xf32, #c>>
          %s = sm.await %f : !sm.inflight<tensor<128x64xf32, #c>>
          sm.barrier
          sm.release %kb[%zero] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
        }
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:12:16]>

// Outside another loop, three warpgroups skip no iterations.
// CHECK-LABEL: func @three_warpgroups
// CHECK-SAME: (%[[N:[a-z0-9]*]]: index,
// CHECK-NOT: sm.row_limit
// CHECK: scf.for %{{.*}} to %[[N]]
module attributes {tile.num_warps = 12 : i64} {
  func.func @three_warpgroups(%n: index, %first: index) {
    %qring = sm.alloc : !sm.shared<1x192x64xbf16, 128>
    %kring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    %kb = sm.channel %kring from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    sm.roles {
      compute warps 12 registers 160 {
        %zero = arith.constant 0 : i32
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %q = sm.slot %qring[%zero] : !sm.shared<1x192x64xbf16, 128> -> !sm.shared<192x64xbf16, 128>
        %end = sm.row_limit %n first %first : index
        scf.for %j = %c0 to %end step %c64 {
          %k = sm.consumer_wait %kb[%zero] phase %zero : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
          %f = sm.wgmma %q, %k depth 64 {transpose_rhs} : !sm.shared<192x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !sm.inflight<tensor<192x64xf32, #c>>
          %s = sm.await %f : !sm.inflight<tensor<192x64xf32, #c>>
          sm.release %kb[%zero] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
        }
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:16:8], lanes = [1:4:2, 0:8:1], warps = [0:12:16]>

// In another loop, each of three warpgroups skips iterations that its own rows do not see. It then waits for the
// skipped tiles and releases them, because the next tile follows. Each warp releases the slots, in the loop, too.
// CHECK-LABEL: func @in_another_loop
// CHECK-SAME: (%[[N:[a-z0-9]*]]: index, %[[FIRST:[a-z0-9]*]]: index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : index
// CHECK-DAG: %[[C128:.*]] = arith.constant 128 : index
// CHECK: scf.for %{{.*}} iter_args(%[[SLOT:.*]] = %{{.*}}, %[[PHASE:.*]] = %{{.*}})
// CHECK: %[[GROUP:.*]] = sm.warpgroup : index
// CHECK: %[[ALL:.*]] = arith.maxsi
// CHECK: %[[GROUPS:.*]] = arith.addi %[[GROUP]], %[[C1]] : index
// CHECK: %[[ROWS:.*]] = arith.muli %[[GROUPS]], %[[C64]] : index
// CHECK: %[[SEEN:.*]] = arith.addi %[[FIRST]], %[[ROWS]] : index
// CHECK: %[[OWN:.*]] = arith.minsi %{{.*}}, %[[ALL]] : index
// CHECK: %[[BOUND:.*]] = arith.muli %[[OWN]], %[[C128]] : index
// CHECK: %[[TURN:.*]]:2 = scf.for %{{.*}} to %[[BOUND]] step %[[C128]] iter_args(%{{.*}} = %[[SLOT]], %{{.*}} = %[[PHASE]])
// CHECK: sm.wgmma
// CHECK: sm.release %{{.*}} per_warp
// CHECK: %[[REST:.*]]:2 = scf.for %{{.*}} = %[[OWN]] to %[[ALL]] step %[[C1]] iter_args(%[[S:.*]] = %[[TURN]]#0, %[[P:.*]] = %[[TURN]]#1)
// CHECK: sm.consumer_wait %[[B:.*]][%[[S]]] phase %[[P]]
// CHECK: sm.release %[[B]][%[[S]]] per_warp
// CHECK-NOT: sm.sequence_wait
// CHECK: scf.yield
// CHECK: scf.yield %[[REST]]#0, %[[REST]]#1
module attributes {tile.num_warps = 12 : i64} {
  func.func @in_another_loop(%n: index, %first: index, %tiles: index) {
    %qring = sm.alloc : !sm.shared<1x192x64xbf16, 128>
    %kring = sm.alloc : !sm.shared<2x128x64xbf16, 128>
    %kb = sm.channel %kring from load to [compute] : !sm.channel<2, !sm.shared<128x64xbf16, 128>>
    sm.roles {
      compute warps 12 registers 160 {
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c128 = arith.constant 128 : index
        %q = sm.slot %qring[%zero] : !sm.shared<1x192x64xbf16, 128> -> !sm.shared<192x64xbf16, 128>
        scf.for %i = %c0 to %tiles step %c1 iter_args(%slot = %zero, %phase = %zero) -> (i32, i32) {
          %end = sm.row_limit %n first %first : index
          %r:2 = scf.for %j = %c0 to %end step %c128 iter_args(%s = %slot, %p = %phase) -> (i32, i32) {
            %k = sm.consumer_wait %kb[%s] phase %p : !sm.channel<2, !sm.shared<128x64xbf16, 128>>
            %f = sm.wgmma %q, %k depth 64 {transpose_rhs} : !sm.shared<192x64xbf16, 128>, !sm.shared<128x64xbf16, 128> -> !sm.inflight<tensor<192x128xf32, #c>>
            %t = sm.await %f : !sm.inflight<tensor<192x128xf32, #c>>
            sm.release %kb[%s] : !sm.channel<2, !sm.shared<128x64xbf16, 128>>
            %s1 = arith.xori %s, %one : i32
            %p1 = arith.xori %p, %s : i32
            scf.yield %s1, %p1 : i32, i32
          }
          scf.yield %r#0, %r#1 : i32, i32
        }
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:16:8], lanes = [1:4:2, 0:8:1], warps = [0:12:16]>

// An op after the loop continues with the ring, so no iteration is skipped.
// CHECK-LABEL: func @followed_by_another
// CHECK-SAME: (%[[N:[a-z0-9]*]]: index
// CHECK-NOT: sm.warpgroup
// CHECK: scf.for %{{.*}} to %[[N]]
// CHECK-NOT: per_warp
module attributes {tile.num_warps = 12 : i64} {
  func.func @followed_by_another(%n: index, %first: index, %tiles: index) {
    %qring = sm.alloc : !sm.shared<1x192x64xbf16, 128>
    %kring = sm.alloc : !sm.shared<2x128x64xbf16, 128>
    %kb = sm.channel %kring from load to [compute] : !sm.channel<2, !sm.shared<128x64xbf16, 128>>
    sm.roles {
      compute warps 12 registers 160 {
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c128 = arith.constant 128 : index
        %q = sm.slot %qring[%zero] : !sm.shared<1x192x64xbf16, 128> -> !sm.shared<192x64xbf16, 128>
        scf.for %i = %c0 to %tiles step %c1 iter_args(%slot = %zero, %phase = %zero) -> (i32, i32) {
          %end = sm.row_limit %n first %first : index
          %r:2 = scf.for %j = %c0 to %end step %c128 iter_args(%s = %slot, %p = %phase) -> (i32, i32) {
            %k = sm.consumer_wait %kb[%s] phase %p : !sm.channel<2, !sm.shared<128x64xbf16, 128>>
            %f = sm.wgmma %q, %k depth 64 {transpose_rhs} : !sm.shared<192x64xbf16, 128>, !sm.shared<128x64xbf16, 128> -> !sm.inflight<tensor<192x128xf32, #c>>
            %t = sm.await %f : !sm.inflight<tensor<192x128xf32, #c>>
            sm.release %kb[%s] : !sm.channel<2, !sm.shared<128x64xbf16, 128>>
            %s1 = arith.xori %s, %one : i32
            %p1 = arith.xori %p, %s : i32
            scf.yield %s1, %p1 : i32, i32
          }
          %k = sm.consumer_wait %kb[%r#0] phase %r#1 : !sm.channel<2, !sm.shared<128x64xbf16, 128>>
          scf.yield %r#0, %r#1 : i32, i32
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
#r = #sm.layout<registers = [0:32:1, 1:2:1], lanes = [1:32:2], warps = [0:4:32]>

// A role to which all warpgroups hand tiles, and an op that moves elements between warps, need all of them, so no
// iteration is skipped.
// CHECK-LABEL: func @handed_over
// CHECK-NOT: sm.warpgroup
// CHECK-LABEL: func @conversion
// CHECK-NOT: sm.warpgroup
module attributes {tile.num_warps = 8 : i64} {
  func.func @handed_over(%n: index, %first: index, %q: !sm.shared<128x64xbf16, 128>, %kring: !sm.shared<2x64x64xbf16, 128>,
                         %ring: !sm.shared<1x128x64xf32, 128>) {
    %kb = sm.channel %kring from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    %to = sm.channel %ring from compute to [add] by_barriers words 0 : !sm.channel<1, !sm.shared<128x64xf32, 128>>
    sm.roles {
      compute warps 8 registers 232 {
        %zero = arith.constant 0 : i32
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %end = sm.row_limit %n first %first : index
        scf.for %j = %c0 to %end step %c64 {
          %k = sm.consumer_wait %kb[%zero] phase %zero : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
          %f = sm.wgmma %q, %k depth 64 {transpose_rhs} : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !sm.inflight<tensor<128x64xf32, #c>>
          %s = sm.await %f : !sm.inflight<tensor<128x64xf32, #c>>
          sm.release %kb[%zero] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
          sm.producer_store %s, %to[%zero] phase %zero : tensor<128x64xf32, #c>, !sm.channel<1, !sm.shared<128x64xf32, 128>>
        }
      }
      load warps 1 registers 32 {
      }
      add warps 1 registers 32 {
      }
    }
    return
  }

  func.func @conversion(%n: index, %first: index, %q: !sm.shared<128x64xbf16, 128>, %kring: !sm.shared<2x64x64xbf16, 128>,
                        %sum: !tile.view<2xf32>) {
    %kb = sm.channel %kring from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    sm.roles {
      compute warps 8 registers 232 {
        %zero = arith.constant 0 : i32
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %end = sm.row_limit %n first %first : index
        scf.for %j = %c0 to %end step %c64 {
          %k = sm.consumer_wait %kb[%zero] phase %zero : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
          %f = sm.wgmma %q, %k depth 64 {transpose_rhs} : !sm.shared<128x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !sm.inflight<tensor<128x64xf32, #c>>
          %s = sm.await %f : !sm.inflight<tensor<128x64xf32, #c>>
          sm.release %kb[%zero] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
          %rows = sm.convert %s : tensor<128x64xf32, #c> -> tensor<128x64xf32, #r>
          tile.atomic_add %rows, %sum[%j, %c0] : tensor<128x64xf32, #r>, !tile.view<2xf32>
        }
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}
