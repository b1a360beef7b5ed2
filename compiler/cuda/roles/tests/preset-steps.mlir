// RUN: tegula-opt --plan-steps %s | FileCheck %s
// RUN: tegula-opt --plan-steps --pipeline-loops %s | FileCheck %s --check-prefix=ORDER

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!t = !sm.shared<64x64xbf16, 128>
!f = !sm.inflight<tensor<64x64xf32, #c>>

// The step list of a schedule is for each loop whose MMAs have its labels, whatever the author has written there.
module attributes {tile.num_warps = 4 : i64, tile.steps = "o s"} {
  // CHECK-LABEL: @loops
  // ORDER-LABEL: @loops
  func.func @loops(%n: index, %one: index, %a: !t) {
    sm.roles {
      compute warps 4 registers 232 {
        // CHECK: scf.for
        // CHECK: } {tile.steps = "o s"}
        // ORDER: scf.for
        // ORDER: tile.label = "o"
        // ORDER: tile.label = "s"
        // ORDER: } {tile.pipelined, tile.steps = "o s"}
        scf.for %j = %one to %n step %one {
          %f = sm.wgmma %a, %a depth 64 {tile.label = "s"} : !t, !t -> !f
          %s = sm.await %f : !f
          %g = sm.wgmma %a, %a depth 64 {tile.label = "o"} : !t, !t -> !f
          %o = sm.await %g : !f
        } {tile.steps = "s o"}
        // This loop has one more MMA, which follows those of the list.
        // CHECK: scf.for
        // CHECK: } {tile.steps = "o s"}
        // ORDER: scf.for
        // ORDER: } {tile.pipelined, tile.steps = "o s p0"}
        scf.for %j = %one to %n step %one {
          %e = sm.wgmma %a, %a depth 64 : !t, !t -> !f
          %d = sm.await %e : !f
          %f = sm.wgmma %a, %a depth 64 {tile.label = "s"} : !t, !t -> !f
          %s = sm.await %f : !f
          %g = sm.wgmma %a, %a depth 64 {tile.label = "o"} : !t, !t -> !f
          %o = sm.await %g : !f
        }
        // CHECK: scf.for
        // CHECK: } {tile.steps = "p0"}
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
