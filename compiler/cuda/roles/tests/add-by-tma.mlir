// RUN: tegula-opt %s --add-by-tma --split-input-file --verify-diagnostics | FileCheck %s

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#n = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// The role that adds makes the additions of a loop that does one thing after another. They have one channel, whose words
// are the coordinates of a tile. A tile that ends inside a panel and begins at another column than 0, a tile that may
// begin at any column, an addition outside loops, and additions to a tensor that is also read stay as they are.
// CHECK-LABEL: func.func @additions
// CHECK: %[[RING:.*]] = sm.alloc : !sm.shared<1x64x64xf32, 128>
// CHECK-NEXT: %[[CHANNEL:.*]] = sm.channel %[[RING]] from compute to [add] by_barriers words 2 : !sm.channel<1, !sm.shared<64x64xf32, 128>>
// CHECK-NOT: sm.alloc
// CHECK: sm.roles
// CHECK: scf.for %[[I:.*]] =
// CHECK-NEXT: %[[FITS:.*]] = sm.fits %arg0 at %c0{{.*}} from !sm.shared<64x64xf32, 128> : !tile.view<2xf32>
// CHECK-NEXT: scf.if %[[FITS]] {
// CHECK-NEXT: %[[AT:.*]]:2 = sm.coordinates %arg0[%[[I]], %c0] : !tile.view<2xf32> -> i32, i32
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-NEXT: sm.producer_store %{{.*}}, %[[CHANNEL]][%[[ZERO]]] phase %[[ZERO]] words(%[[AT]]#0, %[[AT]]#1) staggered : tensor<64x64xf32, #{{.*}}>, !sm.channel
// CHECK-NEXT: } else {
// CHECK-NEXT: tile.atomic_add %{{.*}}, %arg0[%[[I]], %c0] {tile.rare}
// CHECK: sm.coordinates %arg0[%[[I]], %c64]
// CHECK: sm.producer_store %{{.*}}, %[[CHANNEL]]
// CHECK: tile.atomic_add %{{.*}} {tile.rare}
// CHECK-COUNT-4: tile.atomic_add %{{[^{]*}} : tensor
// CHECK-NOT: sm.producer_store
// CHECK: sm.close %[[CHANNEL]]
// CHECK-NEXT: }
// CHECK-NEXT: load warps 1
// CHECK: add warps 1 registers 40 {
// CHECK-NEXT: %[[C0:.*]] = arith.constant 0 : i32
// CHECK-NEXT: sm.release %[[CHANNEL]][%[[C0]]] per_warp
// CHECK-NEXT: scf.while
// CHECK-NEXT: %[[OPEN:.*]] = sm.next %[[CHANNEL]]
// CHECK-NEXT: scf.condition(%[[OPEN]])
// CHECK-NEXT: } do {
// CHECK-NEXT: %[[TILE:.*]] = sm.consumer_wait %[[CHANNEL]][%[[C0]]] phase %[[C0]] already_full
// CHECK-NEXT: %[[W:.*]]:2 = sm.words %[[CHANNEL]]
// CHECK-NEXT: sm.tma_add %[[TILE]] layout #{{.*}}, %arg0 at %[[W]]#0, %[[W]]#1 : !sm.shared<64x64xf32, 128>, !tile.view<2xf32>
// CHECK-NEXT: sm.tma_store_wait %[[TILE]]
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.release %[[CHANNEL]][%[[C0]]] per_warp
// CHECK-NEXT: scf.yield
module attributes {tile.add_by_tma = true, tile.num_warps = 4 : i64} {
  func.func @additions(%sum: !tile.view<2xf32>, %other: !tile.view<2xf32>, %n: index, %x: tensor<64x64xf32, #c>,
                       %y: tensor<64x16xf32, #n>) {
    sm.roles {
      compute warps 4 registers 232 {
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        scf.for %i = %c0 to %n step %c64 {
          tile.atomic_add %x, %sum[%i, %c0] : tensor<64x64xf32, #c>, !tile.view<2xf32>
          tile.atomic_add %x, %sum[%i, %c64] : tensor<64x64xf32, #c>, !tile.view<2xf32>
          tile.atomic_add %y, %sum[%i, %c64] : tensor<64x16xf32, #n>, !tile.view<2xf32>
          tile.atomic_add %x, %sum[%i, %n] : tensor<64x64xf32, #c>, !tile.view<2xf32>
          tile.atomic_add %x, %other[%i, %c0] : tensor<64x64xf32, #c>, !tile.view<2xf32>
          %z = tile.load %other[%i, %c0] : !tile.view<2xf32> -> tensor<64x64xf32, #c>
        }
        tile.atomic_add %x, %sum[%c0, %c0] : tensor<64x64xf32, #c>, !tile.view<2xf32>
      }
      load warps 1 registers 40 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// If iterations overlap, each warp makes its own additions. The loop bounds their rows, so one test before it is enough.
// CHECK-LABEL: func.func @overlapping
// CHECK: %[[FITS:.*]] = sm.fits %arg0 at %c0, %c0, %arg1 from !sm.shared<64x64xf32, 128>
// CHECK-NEXT: scf.for
// CHECK-NEXT: scf.if %[[FITS]] {
// CHECK-NEXT: %[[AT:.*]]:2 = sm.coordinates %arg0[%{{.*}}, %c0] tested
// CHECK-NEXT: sm.tma_store_wait %[[B:[a-z0-9]+]] :
// CHECK-NEXT: sm.write %{{.*}}, %[[B]] staggered
// CHECK-NEXT: sm.tma_add %[[B]] layout #{{.*}}, %arg0 at %[[AT]]#0, %[[AT]]#1
// CHECK-NEXT: } else {
// CHECK-NEXT: tile.atomic_add %{{.*}} {tile.rare}
module attributes {tile.add_by_tma = true, tile.num_warps = 4 : i64} {
  func.func @overlapping(%sum: !tile.view<2xf32>, %n: index, %x: tensor<64x64xf32, #c>) {
    sm.roles {
      compute warps 4 registers 232 {
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        scf.for %i = %c0 to %n step %c64 {
          tile.atomic_add %x, %sum[%i, %c0] : tensor<64x64xf32, #c>, !tile.view<2xf32>
        } {tile.steps = "p0 p1@1"}
      }
      load warps 1 registers 40 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#d = #sm.layout<registers = [1:2:1, 0:2:8, 1:4:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// One role adds all tiles in turns, so they have one layout: the others remain with the lanes. It waits for the turn of a
// tile, unless it has seen the counter before: it reads the one that it expects next while TMA adds.
// CHECK-LABEL: func.func @turns
// CHECK: %[[CHANNEL:.*]] = sm.channel %{{.*}} from compute to [add] by_barriers words 5
// CHECK: sm.alloc : !sm.shared<64x64xf32, 128>
// CHECK: sm.roles
// CHECK: %[[AT:.*]]:2 = sm.coordinates %arg0[%[[I:.*]], %c0]
// CHECK-NEXT: %[[PLACE:.*]] = sm.coordinates %arg1[%[[I]]] : !tile.view<1xi32> -> i32
// CHECK: sm.producer_store %{{.*}} words(%[[AT]]#0, %[[AT]]#1, %[[PLACE]], %[[N:.*]], %[[M:.*]]) staggered
// CHECK: sm.producer_store %{{.*}} words(%{{.*}}, %{{.*}}, %{{.*}}, %[[M]], %[[N]]) staggered
// CHECK: tile.atomic_add %{{.*}} turn %[[M]] of %arg1[%[[I]]] next %[[N]] {tile.rare}
// CHECK: tile.atomic_add %{{.*}} turn %{{.*}} next %{{[0-9a-z]+}} :
// CHECK: sm.tma_add
// CHECK-NOT: turn %
// CHECK: sm.close %[[CHANNEL]]
// CHECK: scf.while (%{{.*}} = %[[C0:.*]], %{{.*}} = %[[C0]], %{{.*}} = %c-2147483648_i32)
// CHECK: ^bb0(%[[EXPECTED:.*]]: i32, %[[BEFORE:.*]]: i32, %[[NOW:.*]]: i32):
// CHECK: %[[W:.*]]:5 = sm.words %[[CHANNEL]]
// CHECK: %[[IS:.*]] = arith.cmpi eq, %[[EXPECTED]], %[[W]]#2 : i32
// CHECK: %[[KNOWN:.*]] = arith.select %[[IS]], %[[NOW]], %c-2147483648_i32
// CHECK-NEXT: %[[ROW:.*]] = arith.index_cast %[[W]]#2 : i32 to index
// CHECK-NEXT: sm.wait_memory_turn %arg1[%[[ROW]]] until %[[W]]#3 known %[[KNOWN]]
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.proxy_fence tensors
// CHECK-NEXT: sm.tma_add
// CHECK-NEXT: sm.tma_store_wait %
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.release
// CHECK-NEXT: %[[TWICE:.*]] = arith.addi %[[W]]#2, %[[W]]#2
// CHECK-NEXT: %[[NEXT:.*]] = arith.subi %[[TWICE]], %[[BEFORE]]
// CHECK-NEXT: %[[AT:.*]] = arith.index_cast %[[NEXT]]
// CHECK-NEXT: %[[READ:.*]] = sm.read_memory_turn %arg1[%[[AT]]]
// CHECK-NEXT: sm.tma_store_wait written
// CHECK-NEXT: sm.barrier warp
// CHECK-NEXT: sm.pass_memory_turn %arg1[%[[ROW]]] next %[[W]]#4
// CHECK-NEXT: scf.yield %[[NEXT]], %[[W]]#2, %[[READ]]
module attributes {tile.add_by_tma = true, tile.num_warps = 4 : i64} {
  func.func @turns(%sum: !tile.view<2xf32>, %turns: !tile.view<1xi32>, %size: index, %x: tensor<64x64xf32, #c>,
                   %y: tensor<64x32xf32, #d>, %n: i32, %m: i32) {
    sm.roles {
      compute warps 4 registers 232 {
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        scf.for %i = %c0 to %size step %c64 {
          tile.atomic_add %x, %sum[%i, %c0] turn %n of %turns[%i] next %m
            : tensor<64x64xf32, #c>, !tile.view<2xf32>, !tile.view<1xi32>
          tile.atomic_add %x, %sum[%i, %c64] turn %m of %turns[%i] next %n
            : tensor<64x64xf32, #c>, !tile.view<2xf32>, !tile.view<1xi32>
          tile.atomic_add %y, %sum[%i, %c0] turn %n of %turns[%i] next %m
            : tensor<64x32xf32, #d>, !tile.view<2xf32>, !tile.view<1xi32>
          tile.atomic_add %x, %sum[%i, %c0] : tensor<64x64xf32, #c>, !tile.view<2xf32>
        }
      }
      load warps 1 registers 40 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16, 1:2:64]>

// Accumulators of 96 columns have those of a buffer of 128. TMA sees only 96 columns of the tensor, so the tile must
// begin at column 0.
// CHECK-LABEL: func.func @padded
// CHECK: sm.alloc : !sm.shared<1x64x128xf32, 128>
// CHECK: sm.fits %arg0 at {{.*}} from !sm.shared<64x128xf32, 128> columns 96 :
// CHECK: sm.producer_store {{.*}} : tensor<64x96xf32, #{{.*}}>, !sm.channel<1, !sm.shared<64x128xf32, 128>>
// CHECK: tile.atomic_add %{{.*}} {tile.rare}
// CHECK: tile.atomic_add %{{[^{]*}} : tensor
// CHECK: sm.tma_add %{{.*}} layout #{{.*}} columns 96, %arg0 at
module attributes {tile.add_by_tma = true, tile.num_warps = 8 : i64} {
  func.func @padded(%sum: !tile.view<2xf32>, %n: index, %x: tensor<64x96xf32, #c>) {
    sm.roles {
      compute warps 8 registers 232 {
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        scf.for %i = %c0 to %n step %c64 {
          tile.atomic_add %x, %sum[%i, %c0] : tensor<64x96xf32, #c>, !tile.view<2xf32>
          tile.atomic_add %x, %sum[%i, %c64] : tensor<64x96xf32, #c>, !tile.view<2xf32>
        }
      }
      load warps 1 registers 40 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:10:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#n = #sm.layout<registers = [1:2:1, 0:2:8, 1:6:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// A warp that has all columns of its rows need not have whole panels. Lanes add narrow tiles.
// CHECK-LABEL: func.func @all_columns
// CHECK: sm.fits %arg0 at %c0, %c0, %arg1 from !sm.shared<64x96xf32, 128> columns 72 :
// CHECK: sm.write %{{.*}}, %[[BUFFER:.*]] staggered : tensor<64x72xf32, #{{.*}}>, !sm.shared<64x96xf32, 128>
// CHECK-NEXT: sm.tma_add %[[BUFFER]] layout #{{.*}} columns 72, %arg0
// CHECK-NOT: sm.tma_add
// CHECK: tile.atomic_add %{{[^{]*}} : tensor<64x40xf32
module attributes {tile.add_by_tma = true, tile.num_warps = 4 : i64} {
  func.func @all_columns(%sum: !tile.view<2xf32>, %n: index, %x: tensor<64x72xf32, #c>, %y: tensor<64x40xf32, #n>) {
    sm.roles {
      compute warps 4 registers 232 {
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        scf.for %i = %c0 to %n step %c64 {
          tile.atomic_add %x, %sum[%i, %c0] : tensor<64x72xf32, #c>, !tile.view<2xf32>
          tile.atomic_add %y, %sum[%i, %c0] : tensor<64x40xf32, #n>, !tile.view<2xf32>
        } {tile.steps = "p0 p1@1"}
      }
      load warps 1 registers 40 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

module attributes {tile.add_by_tma = true, tile.num_warps = 4 : i64} {
  // expected-remark @+1 {{add_by_tma has no effect: no loop of the consumers adds f32 accumulators of a wgmma}}
  func.func @no_roles(%sum: !tile.view<2xf32>, %n: index, %x: tensor<64x64xf32, #c>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    scf.for %i = %c0 to %n step %c64 {
      tile.atomic_add %x, %sum[%i, %c0] : tensor<64x64xf32, #c>, !tile.view<2xf32>
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// Boxes with an end inside the tensor have another map. The role that adds has one, so each warp makes the other
// additions. TMA has no boxes of rows of rows.
// CHECK-LABEL: func.func @rows
// CHECK: %[[ROWS:.*]] = tile.rows
// CHECK: sm.fits %arg0 at {{.*}} ends_inside
// CHECK: %[[AT:.*]]:4 = sm.coordinates %[[ROWS]][%{{.*}}, %c0] : !tile.view<2xf32> -> i32, i32, i32, i32
// CHECK: sm.producer_store %{{.*}} words(%[[AT]]#0, %[[AT]]#1, %[[AT]]#2, %[[AT]]#3)
// CHECK: sm.coordinates %arg0[%{{.*}}, %c0] tested
// CHECK: sm.tma_add
// CHECK: tile.atomic_add %{{.*}} {tile.rare}
// CHECK: tile.atomic_add %{{[^{]*}} : tensor
module attributes {tile.add_by_tma = true, tile.num_warps = 4 : i64} {
  func.func @rows(%sum: !tile.view<2xf32>, %begin: index, %n: index, %x: tensor<64x64xf32, #c>) {
    sm.roles {
      compute warps 4 registers 232 {
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %rows = tile.rows %sum[%begin, %n] : !tile.view<2xf32>
        %twice = tile.rows %rows[%begin, %n] : !tile.view<2xf32>
        scf.for %i = %c0 to %n step %c64 {
          tile.atomic_add %x, %rows[%i, %c0] : tensor<64x64xf32, #c>, !tile.view<2xf32>
          tile.atomic_add %x, %sum[%i, %c0] : tensor<64x64xf32, #c>, !tile.view<2xf32>
          tile.atomic_add %x, %twice[%i, %c0] : tensor<64x64xf32, #c>, !tile.view<2xf32>
        }
      }
      load warps 1 registers 40 {
      }
    }
    return
  }
}
