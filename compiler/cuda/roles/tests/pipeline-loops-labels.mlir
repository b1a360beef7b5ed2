// RUN: tegula-opt --plan-steps --pipeline-loops --split-input-file %s | FileCheck %s

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<64x64xf32, #c>>
!tile = tensor<64x64xf32, #c>

// A list may name any op with a label. The load comes after the start of the MMA before it in the list, and not before
// the wait that the list does not ask for. The addition waits for its own MMA only.
// CHECK-LABEL: func @a_load_and_an_addition
// CHECK: sm.wgmma {{.*}} {tile.label = "s"}
// CHECK-NEXT: %[[LOADED:.*]] = tile.load {{.*}} {tile.label = "bias"}
// CHECK-NEXT: sm.await
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %{{.*}}, %[[LOADED]]
// CHECK-NEXT: tile.atomic_add %[[SUM]], {{.*}} {tile.label = "add"}
// CHECK-NEXT: sm.wgmma {{.*}} {tile.label = "o"}
// CHECK-NEXT: sm.await
func.func @a_load_and_an_addition(%n: index, %one: index, %a: !t, %bias: !tile.view<2xf32>, %out: !tile.view<2xf32>) {
  sm.roles {
    compute warps 4 registers 232 {
      scf.for %j = %one to %n step %one {
        %b = tile.load %bias[%j, %one] {tile.label = "bias"} : !tile.view<2xf32> -> !tile
        %f = sm.wgmma %a, %a depth 64 {tile.label = "s"} : !t, !t -> !f
        %s = sm.await %f : !f
        %g = sm.wgmma %a, %a depth 64 {tile.label = "o"} : !t, !t -> !f
        %o = sm.await %g : !f
        %x = arith.addf %s, %b : !tile
        tile.atomic_add %x, %out[%j, %one] {tile.label = "add"} : !tile, !tile.view<2xf32>
      } {tile.steps = "s bias add o"}
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
!tile = tensor<64x64xf32, #c>

// The addition of the iteration before runs beside the next MMA. The loop carries its tile and position.
// CHECK-LABEL: func @a_late_addition
// CHECK: scf.for %[[J:.*]] = {{.*}} iter_args(%[[TILE:.*]] = %{{.*}}, %[[BEFORE:.*]] = %{{.*}})
// CHECK-NEXT: %[[F:.*]] = sm.wgmma
// CHECK-NEXT: tile.atomic_add %[[TILE]], %{{.*}}[%[[BEFORE]], %{{.*}}] {tile.label = "add"}
// CHECK-NEXT: %[[S:.*]] = sm.await %[[F]]
// CHECK-NEXT: scf.yield %[[S]], %[[J]]
// CHECK: tile.atomic_add
func.func @a_late_addition(%n: index, %one: index, %a: !t, %out: !tile.view<2xf32>) {
  sm.roles {
    compute warps 4 registers 232 {
      scf.for %j = %one to %n step %one {
        %f = sm.wgmma %a, %a depth 64 : !t, !t -> !f
        %s = sm.await %f : !f
        tile.atomic_add %s, %out[%j, %one] {tile.label = "add"} : !tile, !tile.view<2xf32>
      } {tile.steps = "p0 add@1"}
    }
    load warps 1 registers 32 {
    }
  }
  return
}

// -----

!t = !sm.shared<64x64xbf16, 128>
!two = !sm.channel<2, !t>

// The loads of an iteration come after the look-up for the next one. The loop carries what the table says, not what is
// computed of it, so that nothing waits for the table before the next iteration. Views are made again.
// CHECK-LABEL: func @a_look_up
// CHECK: load warps 1
// CHECK: %[[FIRST:.*]] = tile.gather
// CHECK: %[[END:.*]]:2 = scf.for %[[J:.*]] = {{.*}} iter_args(%[[PAGE:.*]] = %[[FIRST]], %[[BEFORE:.*]] = %{{.*}}) -> (i32, index)
// CHECK-NEXT: %[[NEXT:.*]] = tile.gather %{{.*}}[%[[J]]] {tile.label = "page"}
// CHECK-NEXT: %[[AT:.*]] = arith.index_cast %[[PAGE]] : i32 to index
// CHECK-NEXT: %[[MATRIX:.*]] = tile.slice %{{.*}}[%[[AT]]]
// CHECK-NEXT: sm.producer_load %[[MATRIX]][%[[BEFORE]], %{{.*}}] {{.*}} {tile.label = "k"}
// CHECK-NEXT: sm.producer_load %[[MATRIX]][%{{.*}}, %[[BEFORE]]] {{.*}} {tile.label = "v"}
// CHECK-NEXT: scf.yield %[[NEXT]], %[[J]]
// CHECK: %[[LAST:.*]] = arith.index_cast %[[END]]#0
// CHECK: sm.producer_load {{.*}} {tile.label = "k"}
// CHECK-NEXT: sm.producer_load {{.*}} {tile.label = "v"}
func.func @a_look_up(%x: !tile.view<3xbf16>, %table: !tile.view<1xi32>, %n: index, %one: index, %zero: i32,
                     %r: !sm.shared<2x64x64xbf16, 128>) {
  %ks = sm.channel %r from load to [compute] : !two
  %vs = sm.channel %r from load to [compute] : !two
  sm.roles {
    compute warps 4 registers 232 {
    }
    load warps 1 registers 32 {
      scf.for %j = %one to %n step %one {
        %page = tile.gather %table[%j] {tile.label = "page"} : !tile.view<1xi32>, index -> i32
        %at = arith.index_cast %page : i32 to index
        %m = tile.slice %x[%at] : !tile.view<3xbf16> -> !tile.view<2xbf16>
        sm.producer_load %m[%j, %one] [64, 64], %ks[%zero] phase %zero {tile.label = "k"} : !tile.view<2xbf16>, !two
        sm.producer_load %m[%one, %j] [64, 64], %vs[%zero] phase %zero {tile.label = "v"} : !tile.view<2xbf16>, !two
      } {tile.steps = "page k@1 v@1"}
    }
  }
  return
}

// -----

!t = !sm.shared<64x64xbf16, 128>
!two = !sm.channel<2, !t>

// A load of this iteration and a late one use one view, which each of them makes of its own page.
// CHECK-LABEL: func @a_shared_view
// CHECK: scf.for %[[J:.*]] = {{.*}} iter_args(%[[PAGE:.*]] = %{{.*}}) -> (index)
// CHECK-NEXT: %[[AT:.*]] = arith.addi %[[J]]
// CHECK-NEXT: %[[NOW:.*]] = tile.slice %{{.*}}[%[[AT]]]
// CHECK-NEXT: sm.producer_load %[[NOW]]{{.*}} {tile.label = "k"}
// CHECK-NEXT: %[[OLDER:.*]] = tile.slice %{{.*}}[%[[PAGE]]]
// CHECK-NEXT: sm.producer_load %[[OLDER]]{{.*}} {tile.label = "v"}
// CHECK-NEXT: scf.yield %[[AT]]
func.func @a_shared_view(%x: !tile.view<3xbf16>, %n: index, %one: index, %zero: i32,
                         %r: !sm.shared<2x64x64xbf16, 128>) {
  %ks = sm.channel %r from load to [compute] : !two
  %vs = sm.channel %r from load to [compute] : !two
  sm.roles {
    compute warps 4 registers 232 {
    }
    load warps 1 registers 32 {
      scf.for %j = %one to %n step %one {
        %at = arith.addi %j, %one : index
        %m = tile.slice %x[%at] : !tile.view<3xbf16> -> !tile.view<2xbf16>
        sm.producer_load %m[%one, %one] [64, 64], %ks[%zero] phase %zero {tile.label = "k"} : !tile.view<2xbf16>, !two
        sm.producer_load %m[%one, %one] [64, 64], %vs[%zero] phase %zero {tile.label = "v"} : !tile.view<2xbf16>, !two
      } {tile.steps = "k v@1"}
    }
  }
  return
}

// -----

!t = !sm.shared<64x64xbf16, 128>
!two = !sm.channel<2, !t, !t>

// If one part of a slot is loaded late, so is the other, and part 0 comes first: it waits for the slot.
// CHECK-LABEL: func @late_parts
// CHECK: scf.for {{.*}}
// CHECK: tile.gather
// CHECK: sm.producer_load {{.*}} {tile.label = "k"}
// CHECK: sm.producer_load {{.*}} part 1 {tile.label = "v"}
// CHECK: scf.yield
func.func @late_parts(%x: !tile.view<3xbf16>, %table: !tile.view<1xi32>, %n: index, %one: index, %zero: i32,
                      %r: !sm.shared<2x64x64xbf16, 128>) {
  %kv = sm.channel %r, %r from load to [compute] : !two
  sm.roles {
    compute warps 4 registers 232 {
    }
    load warps 1 registers 32 {
      scf.for %j = %one to %n step %one {
        %page = tile.gather %table[%j] {tile.label = "page"} : !tile.view<1xi32>, index -> i32
        %at = arith.index_cast %page : i32 to index
        %m = tile.slice %x[%at] : !tile.view<3xbf16> -> !tile.view<2xbf16>
        sm.producer_load %m[%j, %one] [64, 64], %kv[%zero] phase %zero {tile.label = "k"} : !tile.view<2xbf16>, !two
        sm.producer_load %m[%one, %j] [64, 64], %kv[%zero] phase %zero part 1 {tile.label = "v"} : !tile.view<2xbf16>, !two
      } {tile.steps = "page v@1"}
    }
  }
  return
}
