// SPDX-License-Identifier: MIT
// The passes of the phase `roles`. Keep in the order in which they run.
#ifndef TEGULA_CUDA_ROLES_PASSES
#define TEGULA_CUDA_ROLES_PASSES

include "mlir/Pass/PassBase.td"

def SpecializeWarps : Pass<"specialize-warps", "::mlir::ModuleOp"> {
  let summary = "moves loads to a producer warpgroup and connects it with the consumers by rings";
  let description = [{
    Applies to modules with `tile.roles = "load"`. A function in which no loop has an `sm.load_shared` that qualifies
    stays as it is, with a remark; later passes then let all warps copy.

    - An `sm.load_shared` moves to the producer if its position follows from scalars and loop variables alone, TMA can
      copy it as one box, and its readers are MMAs, at least one of them an `sm.wgmma`.
    - A `tile.load` in a loop moves if it has at least 1,024 elements of 16 bits, each warp owns whole rows of it, and
      its ring still fits into `tile.shared_limit` bytes. If TMA cannot copy the tile, each warp copies its own rows to
      the slot (`sm.fallback_copy`), because a single warp would be slower. Later branches that load the same tile
      again, such as the recompute path of the optimistic softmax, read the same slot.

    The producer gets these loads, the loops around them and the scalar arithmetic of their positions. The consumers get
    everything else, with a consumer wait before the first use of a tile and a release after the last use. An innermost
    loop has rings of `tile.num_stages` slots, an outer loop rings of two slots; outside loops a ring has one slot. The
    producer loads the tiles of an iteration in the order in which consumers release them, so it never waits for a late
    slot while an earlier one is free. If a tile that goes to registers is not used after a tile that each warp
    releases, the release of the second frees both. If an `sm.mma` reads a tile, a proxy fence follows, because TMA
    writes the slot next, and each warp releases the slot.

    The producer's warps are added to `tile.num_warps`; the pass sets `tile.producer_warps`. It divides the registers so
    that the multiprocessor holds `tile.instances_per_sm` thread blocks (default 1).
  }];
  let dependentDialects = ["::tegula::sm::SmDialect"];
}

def OverlapMmas : Pass<"overlap-mmas", "::mlir::ModuleOp"> {
  let summary = "runs the last MMA of an iteration together with the first MMA of the next";
  let description = [{
    Applies to loops of the consumers in modules with `tile.overlap = "pingpong"`. The loop must have at least two
    `sm.wgmma`, and the result of the last one must only be yielded, as the accumulator O of attention is. No op up to
    the wait for the first MMA may use this result. The first iteration is peeled. Each later iteration starts its first
    MMA and the previous iteration's last MMA one after the other; one last MMA remains after the loop. Comparisons of
    the loop variable with its first value become constants. If there are several warpgroups, a mutex
    (`sm.sequence_wait`, `sm.sequence_arrive`) lets one start both MMAs while the others compute.

    A loop stays as it is, with a remark, if the last MMA reads a tile of shared memory that the iteration computes, or
    one that an earlier MMA of the iteration reads, too. The next iteration may overwrite such a tile while the MMA
    still reads it.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::tegula::sm::SmDialect"];
}

def ReadEarly : Pass<"read-early"> {
  let summary = "reads tiles from shared memory to registers while an MMA runs";
  let description = [{
    Applies to a tile with an `sm.fallback_copy` that lanes read to registers, such as a bias. The read moves, with
    everything that it depends on, before the wait for the preceding `sm.wgmma`, so its latency is hidden. The release
    of the slot, and its proxy fence, move after the next wait that leaves no MMA in flight: the fence would otherwise
    wait for the MMA itself.
  }];
}

#endif
