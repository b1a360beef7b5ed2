// SPDX-License-Identifier: MIT
// The passes of the phase `shared`. Keep in the order in which they run.
#ifndef TEGULA_CUDA_SHARED_PASSES
#define TEGULA_CUDA_SHARED_PASSES

include "compiler/cuda/OrderedPass.td"

def PrintAccesses : Pass<"print-accesses"> {
  let summary = "says as a remark what each op does to memory and what it waits for; not part of the phase";
  let description = [{
    For tests of a new op, and to see what the passes of this phase know about a program. An access names the operand,
    the engine that makes it after the op, and whether the mbarriers of a ring order it.
  }];
  let dependentDialects = ["::tegula::sm::SmDialect"];
}

def PipelineCopies : OrderedPass<"pipeline-copies", "::mlir::ModuleOp"> {
  let summary = "starts the copies of later iterations early (`cp.async`, software pipelining)";
  let description = [{
    Applies to an `sm.load_shared` from a read-only tensor to a tile with panels. Its position may depend on the loop
    variable, but on no loaded or carried value, and its loop must contain no other loop with an `sm.load_shared`. Other
    loads stay where they are.

    The load gets a ring of `tile.num_stages` buffers (default 2), and the loop counts its slots in an i32. The copies
    of the first stages - 1 iterations start before the loop. Each iteration waits for its own tile, then starts a later
    copy. All loads of a loop share one commit group. The loop carries the groups in flight, the oldest first, and waits
    for all copies into its rings. With one stage, the copies of an iteration start together at its top.

    An example with three stages, abridged from tests/pipeline-copies.mlir (`@three_stages`). Before:

    ```mlir
    scf.for %j = %lo to %hi step %c64 iter_args(%sum = %zero) {
      %t = sm.load_shared %k[%j, %c0] [64, 64]
      %s = sm.mma %t, %t depth 64 acc %sum
    }
    ```

    After:

    ```mlir
    %ring = sm.alloc : !sm.shared<3x64x64xbf16, 128>
    ...                                                // copies of two iterations, in the groups %g0 and %g1
    scf.for %j = %lo to %hi step %c64 iter_args(%sum = %zero, %old = %g0, %young = %g1, %slot = %c0_i32) {
      sm.wait %old
      scf.if %exists { sm.copy_in %k[%next, %c0] [64, 64], %free_slot }
      %g2 = sm.commit
      %t = sm.slot %ring[%slot]
      %s = sm.mma %t, %t depth 64 acc %sum
      scf.yield %s, %young, %g2, %next_slot
    }
    ```
  }];
  let needs = ["sm.load_shared"];
  let gives = ["sm.copy_in", "sm.wait"];
}

def KeepLhsInRegisters : OrderedPass<"keep-lhs-in-registers", "::mlir::ModuleOp"> {
  let summary = "keeps left operands that a loop does not change in registers";
  let description = [{
    Applies, in modules with `tile.lhs_in_registers`, to a 16-bit left operand that is made before a loop and read by
    MMAs in it, such as Q. The operand is read from shared memory once instead of in every iteration. For `sm.wgmma` the
    loop must also carry another left operand in registers, as loops with MMA overlap do: otherwise ptxas 13.0 assigns
    the same registers to both operands, without a warning. An `sm.mma` whose operand an `sm.wgmma` reads, too, keeps
    reading shared memory, because it runs rarely. The pass emits a remark if nothing qualifies.
  }];
  let needs = ["sm.load_shared", "sm.to_shared"];
}

def AllocateShared : OrderedPass<"allocate-shared"> {
  let summary = "gives each tile in shared memory a buffer, and each copy a wait";
  let description = [{
    `sm.load_shared` becomes alloc, `copy_in` and commit in its place. A wait comes before the first op of its block
    that reads the buffer or writes the tensor. Commit groups finish in order, so a wait for a younger group on the way
    to that op covers this group, too: it then names both. A group joins the next one if each wait that names it covers
    both, as for copies before a pipelined loop. Because the loop may run zero times, a wait follows it.

    `sm.to_shared` becomes alloc and write, as early in its block as its value is known, so that tiles share barriers.
    `sm.convert` and `sm.reshape` become alloc, write and read.
  }];
  let needs = ["sm.load_shared", "sm.to_shared", "sm.convert", "sm.copy_in"];
  let gives = ["sm.write"];
  let ends = ["sm.load_shared", "sm.to_shared", "sm.convert"];
}

def IssueLoadsEarly : OrderedPass<"issue-loads-early"> {
  let summary = "moves loads to registers to the start of the loop body";
  let description = [{
    Applies to a `tile.load` from a read-only tensor whose position is scalar arithmetic. The load and this arithmetic
    move to the start of their block, before the waits for copies and as far as possible from the use. The latency of
    the load then overlaps with MMAs. Without a producer, the backward pass loads its row statistics this way.
  }];
  let needs = ["sm.wait"];
}

def DrawLate : OrderedPass<"draw-late"> {
  let summary = "starts MMAs before random numbers that they do not need";
  let description = [{
    Applies to an `sm.random` that stands before an `sm.wgmma` of its block, and is needed after it only. The numbers
    move after the last such start before a wait, with the ops that are computed from them alone. The tensor cores then
    work while the numbers are drawn. The backward pass of attention with dropout draws them while it computes S and dP.
    From `compiler/cuda/shared/tests/draw-late.mlir`, abridged:

    ```mlir
    %bytes = sm.random %seed, %seed, %stream at %i, %i bits 8 rounds 7 : tensor<64x64xi32, #c>
    %s = sm.wgmma %a, %b depth 64 : ...
    ```

    becomes

    ```mlir
    %s = sm.wgmma %a, %b depth 64 : ...
    %bytes = sm.random %seed, %seed, %stream at %i, %i bits 8 rounds 7 : tensor<64x64xi32, #c>
    ```
  }];
  let needs = ["sm.layout"];
}

def ArrangeAdditions : OrderedPass<"arrange-additions"> {
  let summary = "keeps atomic additions from separating MMAs";
  let description = [{
    The first fragments of an MMA arrive late unless another MMA still runs. The pass looks at a `tile.atomic_add` and
    the `sm.mma` that follow it, and counts the registers of the added tile and of their accumulators.

    - Up to 192 registers: the addition moves after the last MMA. No branch then separates the MMAs, and the fragments
      of one are loaded while another runs.
    - Above 224 registers: the MMA that made the added tile is split into groups of columns. Each group is computed and
      added before the next one.
    - In between, nothing changes.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tegula::sm::SmDialect"];
  let needs = ["sm.layout"];
}

def PlanShared : OrderedPass<"plan-shared", "::mlir::ModuleOp"> {
  let summary = "assigns an offset in shared memory to each buffer, and named barriers to roles";
  let description = [{
    Buffers whose live ranges do not overlap share memory. A live range goes from the first to the last access. It
    covers a whole loop if the alloc is outside the loop and an access inside. After a `copy_in` it extends to the waits
    that name its commit group. Large buffers are placed first: at the offset of a buffer of the same size if possible,
    otherwise at the lowest free offset. The pass sets `tile.shared_bytes` on the module.

    A role fills slots of a channel early, so the buffer of a channel is in use from the start of the roles. Each role
    of more than one warp gets a named barrier, then each warpgroup of a role with turns, then the channels by_barriers.
  }];
  let needs = ["sm.write", "sm.copy_in", "sm.channel"];
  let gives = ["tile.shared_bytes"];
}

def StoreByTma : OrderedPass<"store-by-tma"> {
  let summary = "lets TMA store tiles in shared memory where it can, and adds the waits for its stores";
  let description = [{
    Needs the offsets of `plan-shared`. Applies to an `sm.copy_out` of consumers with `rows_of_warp`: a warp then stores
    only what its own lanes have written. TMA reads the buffer after the op is over and in any order, so no other buffer
    may share its bytes, nothing else may access the tensor, and tiles of different iterations may not overlap. Lanes
    copy the tile where an `sm.fits` is false. A write that may follow such a store waits for it, and so does the end
    of the role. A thread counts its commit groups. Where a wait for another buffer counts a store, lanes that copy the
    tile instead close a group, too (`sm.tma_commit`). From `compiler/cuda/shared/tests/store-by-tma.mlir`, abridged:

    ```mlir
    scf.for %i = %c0 to %n step %c64 {
      sm.write %x, %s
      sm.copy_out %s, %o[%i, %c0] [64, 64] rows_of_warp 16
    }
    ```

    becomes

    ```mlir
    scf.for %i = %c0 to %n step %c64 {
      sm.tma_store_wait %s
      sm.write %x, %s
      %fits = sm.fits %o at %c0, %i from !sm.shared<64x64xbf16, 128> rows_of_warp 16
      scf.if %fits {
        sm.tma_store %s, %o[%i, %c0] rows_of_warp 16
      } else {
        sm.copy_out %s, %o[%i, %c0] [64, 64] rows_of_warp 16
      }
    }
    sm.tma_store_wait
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::tegula::sm::SmDialect"];
  let needs = ["tile.shared_bytes"];
  let gives = ["sm.tma_store", "sm.tma_store_wait"];
}

def InsertBarriers : OrderedPass<"insert-barriers"> {
  let summary = "inserts the barriers that order accesses of different threads";
  let description = [{
    Needs the offsets of `plan-shared`. The pass walks the program with the set of accesses since the last barrier, and
    inserts `sm.barrier` before an op that conflicts with one of them. Buffers conflict by the bytes that they share; a
    tensor that the program both reads and writes conflicts as a whole. No barrier is needed if view, layout and
    position prove that each thread meets only its own accesses. If each warp meets only its own, a warp barrier is
    enough.

    A loop is walked again if its end conflicts with its beginning; positions that an iteration computes then count as
    different. A conflict with accesses before a loop or branch gets its barrier before the loop or branch.

    A `copy_in` conflicts with accesses before it starts. Each thread waits only for its own copies, so a barrier lies
    between the wait and the next access to the copied bytes; the wait moves down to that access. In a pipelined loop
    this one barrier also separates the readers of a slot from the copies that overwrite it. If an `sm.wgmma` reads what
    threads wrote, a proxy fence precedes each barrier of the thread block.

    One lane releases a slot of a channel for its warp. A barrier of the warp comes before, so that all lanes have read
    the slot. It is not needed if an MMA has synchronised the lanes since they waited for the tile. The lanes of a warp
    also meet after they have copied rows to a slot that TMA could not load (`sm.fallback_copy`).

    The pass ignores scratch memory inside an op, such as that of a reduction between warps; the op's lowering orders
    it.
  }];
  let needs = ["tile.shared_bytes", "sm.tma_store_wait"];
  let gives = ["sm.barrier"];
}

def ExpandMeetings : OrderedPass<"expand-meetings"> {
  let summary = "makes the barriers of ops for which all threads meet ops of their own";
  let description = [{
    The additions of all threads of a role, or of the program instance, belong to one turn. A barrier therefore comes
    after the wait for the turn, and another one before it is passed on. From
    `compiler/cuda/shared/tests/expand-meetings.mlir`, abridged:

    ```mlir
    tile.atomic_add %x, %sum[%i, %i] turn %n of %turns[%i] next %m
    ```

    becomes

    ```mlir
    sm.wait_memory_turn %turns[%i] until %n
    sm.barrier
    tile.atomic_add %x, %sum[%i, %i]
    sm.barrier
    sm.pass_memory_turn %turns[%i] next %m
    ```

    One thread draws a work index for all, or arrives for all. It does so between two barriers, and the others then read
    the word that it has written:

    ```mlir
    %n = tile.next_work %counter
    ```

    becomes

    ```mlir
    sm.barrier
    sm.draw_work %counter
    sm.barrier
    %n = sm.read_word
    ```

    The pass comes after `insert-barriers`, for which each of these ops is a barrier.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tegula::sm::SmDialect"];
  let needs = ["sm.barrier"];
  let gives = ["sm.wait_memory_turn", "sm.draw_work", "sm.arrive", "sm.read_word"];
}

def EndWarpgroupsEarly : OrderedPass<"end-warpgroups-early"> {
  let summary = "lets a warpgroup stop a loop at the last keys that its rows can see";
  let description = [{
    Applies to consumer loops whose bound is an `sm.row_limit`, whose step is constant and at most 64 for each warpgroup
    but one, and that contain no barrier of all threads. The pass runs last, because barriers must be in place. In a
    causal block of 192 queries, the first 64 queries need 128 keys less than the last 64. Each warpgroup gets its own
    bound. It waits for and passes the mutex of `sm.sequence_init` once for each iteration that it skips, because all
    warpgroups must take it equally often.

    A loop inside another loop, as in a persistent kernel, is followed by the tiles of the next block in the same ring.
    Each warp therefore waits for the skipped tiles and releases them. The ring then counts warps, not warpgroups, in
    the loop, too.

    A loop that is not repeated has no consumer waits after it, so skipped tiles are never released. Only the first of
    two warpgroups may then skip, and at most slots - 1 iterations, because the producer fills no slot again after
    these. The last warpgroup runs every iteration: its wait for the producer's last tile keeps the shared memory
    allocated until then.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::tegula::sm::SmDialect"];
  let needs = ["sm.barrier", "sm.wait_memory_turn"];
  let ends = ["sm.row_limit"];
}

def PlaceFences : OrderedPass<"place-fences"> {
  let summary = "places the fences before MMAs, and those between lanes and TMA";
  let description = [{
    An `sm.wgmma` reads registers only after a fence of the thread that wrote them. One fence serves several MMAs: those
    whose registers were written before it, up to the next op that may branch or that touches memory. MMAs whose
    accumulators are in flight and whose operands lie in shared memory need none.

    If TMA cannot copy a tile, lanes of the producer do, and MMAs see their writes only after a proxy fence. The load
    that comes last among the operands of an MMA has it. A write to a buffer that TMA stores gets an `sm.proxy_fence`.
    From `compiler/cuda/shared/tests/place-fences.mlir`, `@one_fence`, abridged:

    ```mlir
    %f0 = sm.wgmma %a, %a depth 16
    %f1 = sm.wgmma %early, %a depth 16
    %late = sm.pack %p2
    %f2 = sm.wgmma %late, %a depth 16
    ```

    becomes

    ```mlir
    %f0 = sm.wgmma %a, %a depth 16 {fenced}
    %f1 = sm.wgmma %early, %a depth 16
    %late = sm.pack %p2
    %f2 = sm.wgmma %late, %a depth 16 {fenced}
    ```
  }];
  let needs = ["sm.barrier", "sm.tma_store"];
}

def CountWaits : OrderedPass<"count-waits"> {
  let summary = "counts, for each wait, the younger MMAs, copies or stores that may still run";
  let description = [{
    MMAs finish in the order in which they start. An `sm.await` therefore names how many of those that started after its
    own may still run: as many as have started on every path from the start of its MMA to the await. Loops that carry an
    MMA in flight are followed; a path that is not known counts 0. An `sm.wait` names in the same way how many younger
    commit groups of copies may still be in flight, and an `sm.tma_store_wait` how many stores of other buffers. Example
    (`@two_in_flight` in tests/count-waits.mlir):

    ```mlir
    %f = sm.wgmma %q, %k depth 64
    %g = sm.wgmma %w, %v depth 64
    %s = sm.await %f pending 1           // %g may still run
    %o = sm.await %g pending 0
    ```
  }];
  let needs = ["sm.wait", "sm.tma_store_wait"];
}

def ElectLanes : OrderedPass<"elect-lanes"> {
  let summary = "lets one lane start loads by TMA and products, and a warp copy tiles where TMA cannot load them";
  let description = [{
    A role that loads tiles gets two programs. If the strides of the tensors allow TMA to load the operands of MMAs
    (`sm.can_load_by_tma`), one lane loads all tiles. Otherwise the lanes of the warp copy them. From
    `compiler/cuda/shared/tests/elect-lanes.mlir`, abridged:

    ```mlir
    load warps 1 registers 40 {
      sm.producer_load %K[%i, %c0] [64, 64], %k[%slot] phase %phase {fenced}
    }
    ```

    becomes

    ```mlir
    load warps 1 registers 40 {
      %by_tma = sm.can_load_by_tma
      scf.if %by_tma {
        sm.elect {
          sm.producer_load %K[%i, %c0] [64, 64], %k[%slot] phase %phase
        }
      } else {
        %tile = sm.producer_acquire %k[%slot] phase %phase
        sm.fallback_copy %tile, %K[%i, %c0] [64, 64]
        sm.proxy_fence
        sm.barrier warp
        sm.producer_commit %k[%slot]
      }
    }
    ```

    With TMA, a vector and a tile that is `tma_only` are tested one by one (`sm.is_loaded`). If the test is false, the
    lane copies the vector, and leaves the slot of the tile to the consumers. If the rows of a tile lie in several
    pages, the lanes of the warp share its boxes: the warp then executes the role, and one lane starts each of the other
    loads. A role in which a lane starts products is executed by one lane.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::tegula::sm::SmDialect"];
  let needs = ["sm.channel", "sm.barrier"];
  let gives = ["sm.elect", "sm.can_load_by_tma"];
}

#endif
