// RUN: tegula-opt %s --store-by-tma --split-input-file | FileCheck %s

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#d = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// TMA stores a buffer of its own if a test at run time allows it. The next write waits until TMA has read it, and so does
// the end of the role. If another buffer overlaps with it, lanes store: a warp would have to wait for the stores of other
// warps.
// CHECK-LABEL: func.func @places
// CHECK: scf.for
// CHECK: sm.tma_store_wait %[[S:[0-9]+]] : !sm.shared<64x64xbf16, 128>
// CHECK-NEXT: sm.write %{{.*}}, %[[S]]
// CHECK: %[[FITS:.*]] = sm.fits %[[O:.*]] at %[[C0:.*]], %[[I:.*]] from !sm.shared<64x64xbf16, 128> rows_of_warp 16 :
// CHECK-NEXT: scf.if %[[FITS]] {
// CHECK-NEXT: sm.tma_store %[[S]], %[[O]][%[[I]], %[[C0]]] rows_of_warp 16 :
// CHECK-NEXT: } else {
// CHECK-NEXT: sm.copy_out %[[S]], %[[O]][%[[I]], %[[C0]]] [64, 64] rows_of_warp 16 :
// CHECK-NEXT: }
// CHECK-NEXT: sm.write
// CHECK: sm.copy_out %{{.*}}, %{{.*}}[%{{.*}}] [64, 64] rows_of_warp 16 :
// CHECK-NOT: sm.tma_store_wait
// CHECK: }
// CHECK-NEXT: sm.tma_store_wait{{$}}
// CHECK-NEXT: }
!tile = !sm.shared<64x64xbf16, 128>
module attributes {tile.num_warps = 4 : i64} {
  func.func @places(%o: !tile.view<2xbf16>, %p: !tile.view<2xbf16>, %n: index) {
    sm.roles {
      compute warps 4 registers 240 {
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %x = arith.constant dense<1.0> : tensor<64x64xbf16, #c>
        %z = arith.constant dense<1.0> : tensor<64x16xf32, #d>
        %s = sm.alloc {offset = 0 : i64} : !tile
        %shared = sm.alloc {offset = 8192 : i64} : !tile
        %other = sm.alloc {offset = 12288 : i64} : !sm.shared<64x16xf32, 64>
        scf.for %i = %c0 to %n step %c64 {
          sm.write %x, %s : tensor<64x64xbf16, #c>, !tile
          sm.barrier warp
          sm.copy_out %s, %o[%i, %c0] [64, 64] rows_of_warp 16 : !tile, !tile.view<2xbf16>
          sm.write %x, %shared : tensor<64x64xbf16, #c>, !tile
          sm.barrier warp
          sm.copy_out %shared, %p[%i, %c0] [64, 64] rows_of_warp 16 : !tile, !tile.view<2xbf16>
          sm.write %z, %other : tensor<64x16xf32, #d>, !sm.shared<64x16xf32, 64>
        }
      }
      load warps 1 registers 24 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// Threads store tiles that overlap in different iterations, tiles of a tensor that another op accesses, and tiles that
// all threads copy together. Without roles, TMA stores nothing.
// CHECK-LABEL: func.func @others
// CHECK-NOT: sm.tma_store
!tile = !sm.shared<64x64xbf16, 128>
module attributes {tile.num_warps = 4 : i64} {
  func.func @others(%o: !tile.view<2xbf16>, %p: !tile.view<2xbf16>, %q: !tile.view<2xbf16>, %n: index) {
    %c0 = arith.constant 0 : index
    %s = sm.alloc {offset = 0 : i64} : !tile
    sm.copy_out %s, %q[%c0, %c0] [64, 64] rows_of_warp 16 : !tile, !tile.view<2xbf16>
    sm.roles {
      compute warps 4 registers 240 {
        %c16 = arith.constant 16 : index
        %c64 = arith.constant 64 : index
        scf.for %i = %c0 to %n step %c16 {
          sm.copy_out %s, %o[%c0, %i] [64, 64] rows_of_warp 16 : !tile, !tile.view<2xbf16>
        }
        scf.for %i = %c0 to %n step %c64 {
          sm.copy_out %s, %p[%i, %c0] [64, 64] rows_of_warp 16 : !tile, !tile.view<2xbf16>
          %x = tile.load %p[%i, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16, #c>
          sm.copy_out %s, %q[%i, %c0] [64, 64] : !tile, !tile.view<2xbf16>
        }
      }
      load warps 1 registers 24 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:16:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// The rows differ in each iteration, so tiles of different iterations may overlap, and lanes store them.
// CHECK-LABEL: func.func @other_rows(
// CHECK-NOT: sm.tma_store
module attributes {tile.num_warps = 4 : i64} {
  func.func @other_rows(%o: !tile.view<2xbf16>, %n: index) {
    sm.roles {
      compute warps 4 registers 240 {
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %x = arith.constant dense<1.0> : tensor<64x128xbf16, #c>
        %s = sm.alloc {offset = 0 : i64} : !sm.shared<64x128xbf16, 128>
        scf.for %i = %c0 to %n step %c64 {
          sm.write %x, %s : tensor<64x128xbf16, #c>, !sm.shared<64x128xbf16, 128>
          sm.barrier warp
          %rows = tile.rows %o[%i, %n] : !tile.view<2xbf16>
          sm.copy_out %s, %rows[%i, %c0] [64, 128] rows_of_warp 16 : !sm.shared<64x128xbf16, 128>, !tile.view<2xbf16>
          sm.barrier warp
        }
      }
      load warps 1 registers 24 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// The first write comes before the store, so it does not wait. The second one does, and so does one after a branch that
// may have stored.
// CHECK-LABEL: func.func @without_a_loop(
// CHECK-NOT: sm.tma_store_wait
// CHECK: sm.copy_out
// CHECK-NEXT: }
// CHECK-NEXT: sm.tma_store_wait %[[S:[0-9]+]] : !sm.shared<64x64xbf16, 128>
// CHECK-NEXT: sm.write %{{.*}}, %[[S]]
// CHECK-NOT: sm.tma_store_wait
// CHECK: scf.if
// CHECK: sm.tma_store %[[T:[0-9]+]],
// CHECK: sm.copy_out
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: sm.tma_store_wait %[[T]] : !sm.shared<64x64xbf16, 128>
// CHECK-NEXT: sm.write %{{.*}}, %[[T]]
!tile = !sm.shared<64x64xbf16, 128>
module attributes {tile.num_warps = 4 : i64} {
  func.func @without_a_loop(%o: !tile.view<2xbf16>, %p: !tile.view<2xbf16>, %c: i1) {
    sm.roles {
      compute warps 4 registers 240 {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : tensor<64x64xbf16, #c>
        %s = sm.alloc {offset = 0 : i64} : !tile
        %t = sm.alloc {offset = 8192 : i64} : !tile
        sm.write %x, %s : tensor<64x64xbf16, #c>, !tile
        sm.copy_out %s, %o[%c0, %c0] [64, 64] rows_of_warp 16 : !tile, !tile.view<2xbf16>
        sm.write %x, %s : tensor<64x64xbf16, #c>, !tile
        scf.if %c {
          sm.copy_out %t, %p[%c0, %c0] [64, 64] rows_of_warp 16 : !tile, !tile.view<2xbf16>
        }
        sm.write %x, %t : tensor<64x64xbf16, #c>, !tile
      }
      load warps 1 registers 24 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// The end of a role also waits for additions by TMA.
// CHECK-LABEL: func.func @additions(
// CHECK: sm.tma_add
// CHECK-NEXT: sm.tma_store_wait{{$}}
module attributes {tile.num_warps = 4 : i64} {
  func.func @additions(%sum: !tile.view<2xf32>, %x: tensor<64x64xf32, #c>) {
    %b = sm.alloc {offset = 0 : i64} : !sm.shared<64x64xf32, 128>
    sm.roles {
      compute warps 4 registers 240 {
        %c0 = arith.constant 0 : index
        %zero = arith.constant 0 : i32
        sm.write %x, %b staggered : tensor<64x64xf32, #c>, !sm.shared<64x64xf32, 128>
        sm.tma_add %b layout #c, %sum at %zero, %zero : !sm.shared<64x64xf32, 128>, !tile.view<2xf32>
      }
      load warps 1 registers 24 {
      }
    }
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// The wait for the first buffer counts the younger store of the second one. So where lanes copy that tile, they close a
// commit group, too. No store comes between that of the second buffer and its wait.
// CHECK-LABEL: func.func @a_counted_store(
// CHECK: sm.tma_store %[[S:[0-9]+]],
// CHECK-NEXT: } else {
// CHECK-NEXT: sm.copy_out %[[S]],
// CHECK-NEXT: }
// CHECK: sm.tma_store %[[T:[0-9]+]],
// CHECK-NEXT: } else {
// CHECK-NEXT: sm.copy_out %[[T]],
// CHECK-NEXT: sm.tma_commit
// CHECK-NEXT: }
!tile = !sm.shared<64x64xbf16, 128>
module attributes {tile.num_warps = 4 : i64} {
  func.func @a_counted_store(%o: !tile.view<2xbf16>, %p: !tile.view<2xbf16>, %n: index) {
    sm.roles {
      compute warps 4 registers 240 {
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %x = arith.constant dense<1.0> : tensor<64x64xbf16, #c>
        %s = sm.alloc {offset = 0 : i64} : !tile
        %t = sm.alloc {offset = 8192 : i64} : !tile
        scf.for %i = %c0 to %n step %c64 {
          sm.write %x, %s : tensor<64x64xbf16, #c>, !tile
          sm.write %x, %t : tensor<64x64xbf16, #c>, !tile
          sm.copy_out %s, %o[%i, %c0] [64, 64] rows_of_warp 16 : !tile, !tile.view<2xbf16>
          sm.copy_out %t, %p[%i, %c0] [64, 64] rows_of_warp 16 : !tile, !tile.view<2xbf16>
        }
      }
      load warps 1 registers 24 {
      }
    }
    return
  }
}
