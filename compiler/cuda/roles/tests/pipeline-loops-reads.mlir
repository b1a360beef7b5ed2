// RUN: tegula-opt --plan-steps --pipeline-loops --split-input-file %s | FileCheck %s

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// The tile is read while both MMAs are in flight. Its slot is released when none is: not after the first wait, and not
// before the slot of the keys.
// CHECK-LABEL: func @beside_two_products
// CHECK: %[[BIASES:.*]] = sm.channel
// CHECK: %[[KEYS:.*]] = sm.channel
// CHECK: %[[S:.*]] = sm.wgmma
// CHECK-NEXT: %[[O:.*]] = sm.wgmma
// CHECK-DAG: %[[NEXT:.*]] = arith.addi
// CHECK-DAG: %[[TILE:.*]] = sm.consumer_wait %[[BIASES]]
// CHECK-NEXT: sm.is_loaded %[[TILE]], %{{.*}}[%{{.*}}, %[[NEXT]]]
// CHECK: sm.fallback_copy %[[TILE]], %{{.*}}[%{{.*}}, %[[NEXT]]]
// CHECK-NEXT: }
// CHECK-NEXT: sm.read %[[TILE]]
// CHECK: sm.await %[[S]]
// CHECK-NOT: sm.proxy_fence
// CHECK: sm.await %[[O]]
// CHECK-NEXT: sm.release %[[KEYS]]
// CHECK-NEXT: sm.proxy_fence
// CHECK-NEXT: sm.release %[[BIASES]]
module attributes {tile.num_warps = 4 : i64} {
  func.func @beside_two_products(%q: !sm.shared<64x64xbf16, 128>, %slot: i32, %bias: !tile.view<2xbf16>,
                                 %n: index, %one: index, %none: tensor<64x64xf32, #c>) {
    %kring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    %ring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    %biases = sm.channel %ring from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    %keys = sm.channel %kring from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    sm.roles {
      compute warps 4 registers 232 {
        scf.for %i = %one to %n step %one iter_args(%sum = %none) -> tensor<64x64xf32, #c> {
          %k = sm.consumer_wait %keys[%slot] phase %slot : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
          %s = sm.wgmma %q, %q depth 64 {transpose_rhs}
            : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !sm.inflight<tensor<64x64xf32, #c>>
          %o = sm.wgmma %q, %k depth 64 acc %sum
            : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128>, tensor<64x64xf32, #c>
            -> !sm.inflight<tensor<64x64xf32, #c>>
          %scores = sm.await %s : !sm.inflight<tensor<64x64xf32, #c>>
          %next = arith.addi %i, %i : index
          %tile = sm.consumer_wait %biases[%slot] phase %slot : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
          %loaded = sm.is_loaded %tile, %bias[%i, %next] : !sm.shared<64x64xbf16, 128>, !tile.view<2xbf16>
          scf.if %loaded {
          } else {
            sm.fallback_copy %tile, %bias[%i, %next] [64, 64] rows_of_warp 16 : !sm.shared<64x64xbf16, 128>, !tile.view<2xbf16>
          }
          %b = sm.read %tile : !sm.shared<64x64xbf16, 128> -> tensor<64x64xbf16, #c>
          sm.proxy_fence
          sm.release %biases[%slot] per_warp : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
          %output = sm.await %o : !sm.inflight<tensor<64x64xf32, #c>>
          sm.release %keys[%slot] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
          scf.yield %output : tensor<64x64xf32, #c>
        } {tile.steps = "p0 p1"}
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// The position of the tile is only known after the wait, and no MMA is in flight later, so nothing moves.
// CHECK-LABEL: func @after_the_product
// CHECK: sm.await
// CHECK: tile.any
// CHECK: sm.consumer_wait
// CHECK-NEXT: sm.is_loaded
// CHECK-NEXT: scf.if
// CHECK-NEXT: } else {
// CHECK-NEXT: sm.fallback_copy
// CHECK-NEXT: }
// CHECK-NEXT: sm.read
// CHECK: sm.proxy_fence
// CHECK-NEXT: sm.release
module attributes {tile.num_warps = 4 : i64} {
  func.func @after_the_product(%q: !sm.shared<64x64xbf16, 128>, %k: !sm.shared<64x64xbf16, 128>, %slot: i32,
                               %bias: !tile.view<2xbf16>, %limit: tensor<64x64xf32, #c>, %n: index, %one: index) {
    %ring = sm.alloc : !sm.shared<2x64x64xbf16, 128>
    %biases = sm.channel %ring from load to [compute] : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
    sm.roles {
      compute warps 4 registers 232 {
        scf.for %j = %one to %n step %one {
          %s = sm.wgmma %q, %k depth 64 {transpose_rhs}
            : !sm.shared<64x64xbf16, 128>, !sm.shared<64x64xbf16, 128> -> !sm.inflight<tensor<64x64xf32, #c>>
          %scores = sm.await %s : !sm.inflight<tensor<64x64xf32, #c>>
          %above = arith.cmpf ogt, %scores, %limit : tensor<64x64xf32, #c>
          %any = tile.any %above : tensor<64x64xi1, #c>
          %i = arith.index_castui %any : i1 to index
          %tile = sm.consumer_wait %biases[%slot] phase %slot : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
          %loaded = sm.is_loaded %tile, %bias[%i, %i] : !sm.shared<64x64xbf16, 128>, !tile.view<2xbf16>
          scf.if %loaded {
          } else {
            sm.fallback_copy %tile, %bias[%i, %i] [64, 64] rows_of_warp 16 : !sm.shared<64x64xbf16, 128>, !tile.view<2xbf16>
          }
          %b = sm.read %tile : !sm.shared<64x64xbf16, 128> -> tensor<64x64xbf16, #c>
          sm.proxy_fence
          sm.release %biases[%slot] per_warp : !sm.channel<2, !sm.shared<64x64xbf16, 128>>
        }
      }
      load warps 1 registers 32 {
      }
    }
    return
  }
}
