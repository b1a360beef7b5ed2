// RUN: tegula-opt --target=cuda --until=roles %s | FileCheck %s
// RUN: tegula-opt --target=cuda --until=layouts %s | FileCheck %s --check-prefix=LAYOUTS

// A label goes with its op to the ops that replace it.
module attributes {tile.arch = 90 : i64, tile.num_warps = 8 : i64, tile.num_stages = 2 : i64, tile.roles = "load",
                   tile.add_by_tma = true, tile.shared_limit = 232448 : i64, tile.instances_per_sm = 1 : i64} {
  // LAYOUTS-LABEL: func @labels
  // LAYOUTS: sm.load_shared {{.*}} {tile.label = "b"}
  // LAYOUTS: tile.gather {{.*}} {tile.label = "block"}
  // LAYOUTS: sm.load_shared {{.*}} {tile.label = "a"}
  // LAYOUTS: tile.load {{.*}} {tile.label = "w"}
  // LAYOUTS: sm.wgmma {{.*}} {tile.label = "x"
  // LAYOUTS: tile.atomic_add {{.*}} {tile.label = "add"}
  // LAYOUTS: sm.copy_out {{.*}} {tile.label = "out"}

  // CHECK-LABEL: func @labels
  // CHECK: compute warps 8
  // CHECK: sm.read {{.*}} {tile.label = "w"}
  // CHECK: sm.wgmma {{.*}} {tile.label = "x"
  // CHECK: sm.producer_store {{.*}} {tile.label = "add"}
  // CHECK: tile.atomic_add {{.*}} {tile.label = "add", tile.rare}
  // CHECK: sm.copy_out {{.*}} {tile.label = "out"}
  // CHECK: load warps 1
  // CHECK: tile.gather {{.*}} {tile.label = "block"}
  // CHECK: sm.producer_load {{.*}} {tile.label = "a"}
  // CHECK: sm.producer_load {{.*}} {tile.label = "w"}
  func.func @labels(%A: !tile.view<2xbf16>, %B: !tile.view<2xbf16>, %W: !tile.view<1xf32>, %T: !tile.view<1xi32>,
                    %V: !tile.view<2xf32>, %O: !tile.view<2xbf16>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %n = tile.dim %T 0 : !tile.view<1xi32>
    %b = tile.load %B[%c0, %c0] {tile.label = "b"} : !tile.view<2xbf16> -> tensor<128x64xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %block = tile.gather %T[%i] {tile.label = "block"} : !tile.view<1xi32>, index -> i32
      %at = arith.index_cast %block : i32 to index
      %row = arith.muli %at, %c64 : index
      %a = tile.load %A[%row, %c0] {tile.label = "a"} : !tile.view<2xbf16> -> tensor<64x64xbf16>
      %w = tile.load %W[%row] {tile.label = "w"} : !tile.view<1xf32> -> tensor<64xf32>
      %x = tile.dot %b, %a {tile.label = "x"} : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      %r = tile.reshape %w : tensor<64xf32> -> tensor<1x64xf32>
      %ws = tile.broadcast %r : tensor<1x64xf32> -> tensor<128x64xf32>
      %y = arith.mulf %x, %ws : tensor<128x64xf32>
      tile.atomic_add %y, %V[%c0, %row] {tile.label = "add"} : tensor<128x64xf32>, !tile.view<2xf32>
      %o = arith.truncf %y : tensor<128x64xf32> to tensor<128x64xbf16>
      tile.store %o, %O[%c0, %row] {tile.label = "out"} : tensor<128x64xbf16>, !tile.view<2xbf16>
    }
    return
  }
}
