// SPDX-License-Identifier: MIT
// The passes of the phase `roles`. Keep in the order in which they run.
#ifndef TEGULA_CUDA_ROLES_PASSES
#define TEGULA_CUDA_ROLES_PASSES

include "compiler/cuda/OrderedPass.td"

def PrintLoopGraph : Pass<"print-loop-graph"> {
  let summary = "says as a remark what each op of a loop with a step list comes after; not part of the phase";
  let description = [{
    For tests of `pipeline-loops`, and to see why it keeps two ops in order. A remark at each op has its number, and the
    numbers of the ops that it comes after. A `late` op works for the iteration before. A remark at the loop says in
    which order its MMAs start, and how many values late ops need from the iteration before.
  }];
  let dependentDialects = ["::tegula::sm::SmDialect"];
}

def PrintRoleTraces : Pass<"print-role-traces"> {
  let summary = "says as a remark what each op does to channels and turns, step by step; not part of the phase";
  let description = [{
    For tests of `check-progress`, which runs such traces against each other. Loops run as often as in the first of its
    scenarios. A remark at each op has, for each time that the role executes it, the number of the step in the role,
    what it does, and the slot and its phase.
  }];
  let dependentDialects = ["::tegula::sm::SmDialect"];
}

def PrintChannels : Pass<"print-channels"> {
  let summary = "says as a remark how each channel hands over its slots; not part of the phase";
  let description = [{
    For tests of `protocolOf`, which counts the arrivals of mbarriers. A remark at each `sm.channel` has the role that
    fills it, the roles that read it, its slots and their size, and how many arrivals make a slot full and empty again.
    The slots of a channel that is never released are filled once, exchanged, or freed with those of another channel.
  }];
  let dependentDialects = ["::tegula::sm::SmDialect"];
}

def PlanRoles : OrderedPass<"plan-roles", "::mlir::ModuleOp"> {
  let summary = "decides which role loads which tiles, through how many slots, and with how many registers";
  let description = [{
    Applies to modules with `tile.roles = "load"`. A function in which no loop has an `sm.load_shared` that qualifies
    stays as it is, with a remark; later passes then let all warps copy.

    - An `sm.load_shared` gets `tile.role = "load"` if its position follows from scalars and loop variables alone, TMA
      can copy it, and its readers are MMAs and reads, at least one of them an `sm.wgmma`. A tile that must be
      transposed has at most 16 KiB. A remark at each such load in a loop that stays with all warps says why.
    - A `tile.load` of 1-, 2- or 4-byte elements in a loop gets it if it is a matrix of at least 1,024 elements of which
      each warp owns whole rows, or a vector of whole 128 bytes, and its ring still fits into `tile.shared_limit` bytes.
    - An `sm.transpose` gets `tile.role = "transpose"` if it is all that a tile of the role `load` is for. The role
      holds the tile in registers, and must leave enough of them to the role `compute`.
    - An `sm.tcgen05`, whose operands must have the role `load`, and its accumulators get `tile.role = "mma"`, a role of
      one warp.
    - A loop around such loads gets `tile.slots`: `tile.num_stages` in an innermost loop, two in an outer one.
    - The function gets `sm.roles`: the role `compute` of `tile.num_warps` warps, and the role `load` of one warp. With
      the two warps of the role `transpose`, if any, it has a warpgroup of its own. The pass divides the registers by
      what the roles need, so that the multiprocessor holds `tile.instances_per_sm` thread blocks (default 1).

    Attributes that the program has already are obeyed: `tile.role = "compute"` keeps a load with all warps, and
    `tile.role = "load"` on a load that cannot move is an error.

    ```mlir
    func.func @f(...) attributes {
        sm.roles = [#sm.role<"compute" warps 8 registers 232>, #sm.role<"load" warps 1 registers 40>]} {
      scf.for %j ... {
        %k = sm.load_shared %K[%j, %c0] [64, 64] {tile.role = "load"}
        ...
      } {tile.slots = 3 : i64}
    }
    ```
  }];
  let needs = ["sm.load_shared"];
  let gives = ["tile.role", "tile.slots"];
}

def SplitRoles : OrderedPass<"split-roles", "::mlir::ModuleOp"> {
  let summary = "gives each planned role a program of its own and connects them by channels";
  let description = [{
    Carries out what `plan-roles` has written, in each function with `sm.roles`, and removes those attributes.

    The role `load` gets the loads, the loops around them and the scalar arithmetic of their positions. The role
    `compute` gets everything else, with a consumer wait before the first use of a tile and a release after the last
    use. A channel has `tile.slots` slots in a loop, and one outside loops. Tiles of one loop are parts of one channel
    if MMAs read them from shared memory, and the same op of an iteration is the first that uses either of them, and the
    same op is the last: nothing then waits for a tile that it does not need, and nothing is freed later. The producer
    loads the tiles of an iteration in the order in which consumers release them, so it never waits for a late slot
    while an earlier one is free. The loop of a role gets the step list that `tile.role_steps = {load = "page k@1"}` has
    for it. Two tiles share one release if the first one goes to registers, every warp releases the second one, and the
    last use of the first one comes no later. If an `sm.mma` reads a tile, a proxy fence follows, because TMA writes the
    slot next, and each warp releases the slot.

    The role `transpose` gets the loops around its transposes. It waits for a loaded tile, reads it, releases the slot
    and stores the transpose in a second channel, from which the role `compute` takes it. The warps that compute
    transpose what has no such role.

    The role `mma` gets the loops around its products. It waits for their operands, whose slots the tensor cores release
    (`sm.release after_products`). Accumulators have a ring in tensor memory of as many slots, and a channel to the role
    `compute`, which waits for them where the program reads them.

    If TMA cannot copy a matrix that goes to registers, each warp copies its own rows to the slot (`sm.fallback_copy`),
    because a single warp would be slower. Later branches that load the same tile again, such as the recompute path of
    the optimistic softmax, read the same slot.
  }];
  let needs = ["tile.role", "tile.slots"];
  let gives = ["sm.channel", "sm.consumer_wait", "sm.alloc"];
  let ends = ["tile.role", "tile.slots"];
}

def PlanSteps : OrderedPass<"plan-steps", "::mlir::ModuleOp"> {
  let summary = "decides in which order the MMAs of each consumer loop start, as a step list";
  let description = [{
    Writes `tile.steps`, a step list (compiler/sm/Steps.h), on each consumer loop with an `sm.wgmma` that has none from
    its author. A step list on the module comes before both: it is for each loop of a role whose ops have all of its
    labels. If there is no such loop, the program is refused. Ops have the labels that the program gives them
    (`tile.label`), and MMAs without one are p0, p1, ... in program order.

    - MMAs that wait for no other MMA of the iteration come first; they then run together.
    - A single MMA whose accumulators are only carried runs on while the next iteration starts (`p0 p0.end@1`), unless
      the schedule says `overlap=none`. Its rings must have two slots.
    - With `tile.overlap = "pingpong"`, the last MMA of an iteration comes one iteration late, together with the first
      one of the next: `< p0 p1@1 >`. Its result must only be yielded, as the accumulator O of attention is. If there
      are several warpgroups, they take turns. A remark says why this is not possible.
  }];
  let needs = ["sm.consumer_wait"];
  let gives = ["tile.steps"];
}

def ExchangeTiles : OrderedPass<"exchange-tiles", "::mlir::ModuleOp"> {
  let summary = "lets consumer warpgroups exchange tiles through channels, where a step list asks for it";
  let description = [{
    Applies to an `sm.to_shared` in a loop with a step list, if only MMAs of the loop read it, and one of them is
    delayed (`dq@1`) or the list names its write (`dq.lhs`). Elsewhere, a buffer with a barrier before and after the
    write serves the tile.

    The tile goes to a channel (`sm.producer_store`), and each reader waits for it (`sm.consumer_wait`). Warpgroups need
    not say when they have read a slot, because the channel has enough of them: two, or three if a reader is delayed and
    the store passes a turn, or four if a reader is delayed. A warpgroup that stores tile i has waited for tile i - 1 of
    the others, in the last case for tile i - 2; they ended the MMAs of earlier iterations before they stored it.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tegula::sm::SmDialect"];
  let needs = ["tile.steps", "sm.to_shared"];
  let gives = ["sm.producer_store"];
}

def PipelineLoops : OrderedPass<"pipeline-loops", "::mlir::ModuleOp"> {
  let summary = "brings each loop of a role into the order of its step list";
  let description = [{
    Ops that depend on a delayed op (`@1`), only receive its tiles, or compute something for delayed ops alone of what
    another op of the list has read, work for the iteration before, all others for the current one. If any op is
    delayed, the first iteration is peeled, the loop runs from the second one on, and the delayed ops of the last
    iteration follow the loop. Comparisons of the loop variable with its first value become constants. Within an
    iteration:

    - Each op of the list starts after what precedes it in the program and waits for no other MMA than it does.
    - The rest follows in program order, what needs the fewest waits first. What makes the next operand of a delayed MMA
      in registers comes after the wait for that MMA.
    - A read of a slot to registers comes before the first wait that it does not need, so that the wait hides its
      latency. A release comes directly after the wait for the last reader of its slot. With a proxy fence it comes when
      no MMA is in flight: the fence would wait for it.
    - Where a store passes the turn, the wait for the turn implies that all warpgroups have stored their tiles of
      earlier iterations. A delayed op in the turn does not wait for them again (`already_full`).
    - An MMA with `.end@1` adds to accumulators in flight. The next iteration only waits until it has read its operands.

    An example, abridged from tests/pipeline-loops.mlir (`@one_product`). Before:

    ```mlir
    scf.for %j ... iter_args(%sum = %zero) {
      %a = sm.consumer_wait ... ; %b = sm.consumer_wait ...
      %f = sm.wgmma %a, %b depth 64 acc %sum
      %s = sm.await %f
      sm.release ...
      scf.yield %s
    } {tile.steps = "p0 p0.end@1"}
    ```

    After:

    ```mlir
    %f0 = sm.wgmma %a0, %b0 depth 64 acc %zero
    scf.for %j ... iter_args(%g = %f0, %before = %slot0) {
      %a = sm.consumer_wait ... ; %b = sm.consumer_wait ...
      %f = sm.wgmma %a, %b depth 64 acc %g
      sm.await reads %g
      sm.release ...[%before]
      scf.yield %f, %slot
    }
    %s = sm.await ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::tegula::sm::SmDialect"];
  let needs = ["tile.steps", "sm.producer_store"];
  let gives = ["tile.pipelined"];
}

def AddByTma : OrderedPass<"add-by-tma", "::mlir::ModuleOp"> {
  let summary = "lets TMA add the accumulators of a loop to memory";
  let description = [{
    Applies, in modules with `tile.add_by_tma`, to a `tile.atomic_add` of f32 accumulators of `sm.wgmma` in a loop of
    the consumers. Each warp must have whole panels of 32 columns or all columns, the first column must be provably a
    multiple of 4, and 0 if the tile ends inside a panel, and only additions may access the tensor. The pass emits a
    remark if nothing qualifies. From `compiler/cuda/roles/tests/add-by-tma.mlir`, abridged:

    ```mlir
    tile.atomic_add %dq, %dQ[%i, %c0] : tensor<64x64xf32, #c>, !tile.view<2xf32>
    ```

    becomes

    ```mlir
    %fits = sm.fits %dQ at %c0, %c0, %n from !sm.shared<64x64xf32, 128> : !tile.view<2xf32>
    scf.if %fits {
      %at:2 = sm.coordinates %dQ[%i, %c0] tested : !tile.view<2xf32> -> i32, i32
      sm.tma_store_wait %buffer : !sm.shared<64x64xf32, 128>
      sm.write %dq, %buffer staggered : tensor<64x64xf32, #c>, !sm.shared<64x64xf32, 128>
      sm.tma_add %buffer layout #c, %dQ at %at#0, %at#1 : !sm.shared<64x64xf32, 128>, !tile.view<2xf32>
    } else {
      tile.atomic_add %dq, %dQ[%i, %c0] {tile.rare} : tensor<64x64xf32, #c>, !tile.view<2xf32>
    }
    ```

    The test stands before the loop if it is the same in all iterations.

    Lanes issue one instruction for each two elements of an addition from registers. TMA gets one for each 16 rows of a
    panel, and the warps go on.

    Additions in turns, and those of loops that do one thing after another, are left to the role `add`, a warp beside
    the roles of few warps. The warps that compute hand it each tile through a channel by_barriers, whose words are the
    coordinates of the tile and the turn:

    ```mlir
    %at:2 = sm.coordinates %dQ[%i, %c0]
    sm.producer_store %dq, %tiles[%zero] phase %zero words(%at#0, %at#1) staggered
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::tegula::sm::SmDialect"];
  let needs = ["tile.pipelined"];
  let gives = ["sm.tma_add"];
}

def CheckProgress : OrderedPass<"check-progress", "::mlir::ModuleOp"> {
  let summary = "refuses a program whose roles wait for each other for ever";
  let description = [{
    Runs the roles against each other at compile time: the producer and each consumer warpgroup, with the loops and
    branches around their waits and arrivals. Sizes of tensors, and what the program reads from them, are numbers of
    several scenarios, among them loops without an iteration. If all that have not ended wait, the program would hang.
    The error is at a wait, with a note at each of the others. The pass looks at the first 128 waits and arrivals of
    each role, which is more than any channel has slots.

    The pass sees neither the barriers among consumers, which come later, nor races: the simt executor does.
  }];
  let needs = ["tile.pipelined", "sm.tma_add"];
}

#endif
