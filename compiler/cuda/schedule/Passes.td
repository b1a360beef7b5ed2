// SPDX-License-Identifier: MIT
// The pass that completes the schedule of a program.
#ifndef TEGULA_CUDA_SCHEDULE_PASSES
#define TEGULA_CUDA_SCHEDULE_PASSES

include "compiler/cuda/OrderedPass.td"

def ChooseSchedule : OrderedPass<"choose-schedule", "::mlir::ModuleOp"> {
  let summary = "chooses the fields of the schedule that neither the caller nor the program gives";
  let description = [{
    Runs at the end of the phase `tile`, because passes of `simplify` ask if there will be roles. A field that the
    module has already is kept, and the choice of the others agrees with it. `tile.chosen` names the fields that the
    pass has added.

    If the module has `tile.has_wgmma`, the choice is `roles=load` unless there is an obstacle. The pass looks at the
    products of innermost loops. It asks `plan-products` how two warpgroups would compute them, unless each warp can
    have rows of its own. Their accumulators must fit into registers, and two stages of the tiles that an iteration
    loads into `tile.shared_limit` bytes. A remark at each product of tensor cores says what the obstacle is.

    Up to four program instances share a multiprocessor, as many as have registers and four stages each (or the stages
    that the caller gives), with at most 16 warps that compute. While one waits for a product or a tile, another
    computes. The pass then divides `tile.shared_limit` among them.

    If the accumulators take most of a thread's registers, `tile.neighbours` gets other schedules, the best first. The
    driver tries them if the chosen schedule spills. A module that has this attribute has a complete schedule, and stays
    as it is. An example, abridged from tests/choose-schedule.mlir (`@product`). Before:

    ```mlir
    module attributes {tile.has_wgmma = true} {
    ```

    After:

    ```mlir
    module attributes {tile.chosen = ["num_warps", "num_stages", "roles", "instances_per_sm"], tile.has_wgmma = true,
                       tile.instances_per_sm = 1 : i64, tile.neighbours = [], tile.num_stages = 4 : i64,
                       tile.num_warps = 8 : i64, tile.roles = "load"} {
    ```
  }];
  let gives = ["tile.num_warps", "tile.num_stages", "tile.roles", "tile.overlap", "tile.add_by_tma",
               "tile.instances_per_sm", "tile.chosen", "tile.neighbours", "tile.shared_limit"];
  let dependentDialects = []; // It runs before there are ops of sm.
}

#endif
