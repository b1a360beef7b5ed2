// RUN: tegula-opt --exchange-tiles --split-input-file %s | FileCheck %s

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>
#v = #sm.layout<registers = [1:2:1, 0:8:8], lanes = [1:32:2], warps = [0:8:1]>
!q = !sm.shared<128x64xbf16, 128>
!t = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<128x64xf32, #c>>

module attributes {tile.num_warps = 8 : i64} {
  // The tile goes to a channel, whose slot and phase each loop carries, also the loop around. Both readers wait for it.
  // The list names the write, and no reader is late: two slots.
  // CHECK-LABEL: @named
  // CHECK: %[[RING:.*]] = sm.alloc : !sm.shared<2x64x64xbf16, 128>
  // CHECK: %[[CHANNEL:.*]] = sm.channel %[[RING]] from compute to [compute] per_warpgroup : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
  // CHECK: sm.roles
  // CHECK: scf.for {{.*}} iter_args(%[[SLOT0:.*]] = %{{.*}}, %[[PHASE0:.*]] = %{{.*}})
  // CHECK: %[[LAST:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %[[SLOT0]], %{{.*}} = %[[PHASE0]])
  // CHECK-NOT: sm.to_shared
  // CHECK: sm.producer_store %arg{{[0-9]+}}, %[[CHANNEL]][%[[SLOT:.*]]] phase %[[PHASE:[a-z0-9_]+]]
  // CHECK: %[[A:.*]] = sm.consumer_wait %[[CHANNEL]][%[[SLOT]]] phase %[[PHASE]]
  // CHECK: sm.wgmma %{{.*}}, %[[A]]
  // CHECK: %[[B:.*]] = sm.consumer_wait %[[CHANNEL]][%[[SLOT]]] phase %[[PHASE]]
  // CHECK: sm.wgmma %{{.*}}, %[[B]]
  // CHECK: scf.yield %[[LAST]]#0, %[[LAST]]#1
  func.func @named(%n: index, %one: index, %q: !q, %x: tensor<64x64xbf16, #v>) {
    sm.roles {
      compute warps 8 registers 232 {
        scf.for %i = %one to %n step %one {
          scf.for %j = %one to %n step %one {
            %k = sm.to_shared %x : tensor<64x64xbf16, #v> -> !t
            %f0 = sm.wgmma %q, %k depth 64 : !q, !t -> !f
            %0 = sm.await %f0 : !f
            %f1 = sm.wgmma %q, %k depth 64 : !q, !t -> !f
            %1 = sm.await %f1 : !f
          } {tile.steps = "p0.rhs p0 p1"}
        }
      }
      load warps 1 registers 32 {
      }
    }
    return
  }

  // A late reader needs one slot more if the store passes the turn, and otherwise two more.
  // CHECK-LABEL: @late
  // CHECK-DAG: sm.channel {{.*}} from compute to [compute] per_warpgroup : !sm.channel<3, !sm.shared<64x64xbf16, 128>>
  // CHECK-DAG: sm.channel {{.*}} from compute to [compute] per_warpgroup : !sm.channel<4, !sm.shared<64x64xbf16, 128>>
  // CHECK: sm.roles
  // CHECK: scf.for
  // CHECK: sm.producer_store {{.*}} : tensor<64x64xbf16, {{.*}}>, !sm.channel<3,
  // CHECK: } {tile.steps = "< p0.rhs > p0@1"}
  // CHECK: scf.for
  // CHECK: sm.producer_store {{.*}} : tensor<64x64xbf16, {{.*}}>, !sm.channel<4,
  // CHECK: } {tile.steps = "p0@1"}
  func.func @late(%n: index, %one: index, %q: !q, %x: tensor<64x64xbf16, #v>) {
    sm.roles {
      compute warps 8 registers 232 {
        scf.for %j = %one to %n step %one {
          %k = sm.to_shared %x : tensor<64x64xbf16, #v> -> !t
          %f0 = sm.wgmma %q, %k depth 64 : !q, !t -> !f
          %0 = sm.await %f0 : !f
        } {tile.steps = "< p0.rhs > p0@1"}
        scf.for %j = %one to %n step %one {
          %k = sm.to_shared %x : tensor<64x64xbf16, #v> -> !t
          %f0 = sm.wgmma %q, %k depth 64 : !q, !t -> !f
          %0 = sm.await %f0 : !f
        } {tile.steps = "p0@1"}
      }
      load warps 1 registers 32 {
      }
    }
    return
  }

  // A buffer serves a tile that the list does not name and no late MMA reads, one that lanes read too, and one in a
  // branch.
  // CHECK-LABEL: @kept
  // CHECK-NOT: sm.channel
  // CHECK-COUNT-3: sm.to_shared
  // CHECK-NOT: sm.producer_store
  func.func @kept(%n: index, %one: index, %q: !q, %x: tensor<64x64xbf16, #v>, %is: i1) {
    sm.roles {
      compute warps 8 registers 232 {
        scf.for %j = %one to %n step %one {
          %k = sm.to_shared %x : tensor<64x64xbf16, #v> -> !t
          %f0 = sm.wgmma %q, %k depth 64 : !q, !t -> !f
          %0 = sm.await %f0 : !f
        } {tile.steps = "p0"}
        scf.for %j = %one to %n step %one {
          %k = sm.to_shared %x : tensor<64x64xbf16, #v> -> !t
          %f0 = sm.wgmma %q, %k depth 64 : !q, !t -> !f
          %0 = sm.await %f0 : !f
          %lanes = sm.read %k : !t -> tensor<64x64xbf16, #v>
        } {tile.steps = "p0.rhs p0"}
        scf.if %is {
          scf.for %j = %one to %n step %one {
            %k = sm.to_shared %x : tensor<64x64xbf16, #v> -> !t
            %f0 = sm.wgmma %q, %k depth 64 : !q, !t -> !f
            %0 = sm.await %f0 : !f
          } {tile.steps = "p0.rhs p0"}
        }
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}
