// SPDX-License-Identifier: MIT
// Keep in the order in which they run.
#ifndef TEGULA_CUDA_PASSES
#define TEGULA_CUDA_PASSES

include "mlir/Pass/PassBase.td"

def AssignLayouts : Pass<"assign-layouts", "::mlir::ModuleOp"> {
  let summary = "decides which thread holds which element, and which operands live in shared memory";
  let description = [{
    Every tile gets a `#sm.layout`. Products decide: their accumulators take the tensor cores' fragments, on the grid of
    warps that reads least from shared memory and keeps the rows that are reduced within one warp. From there layouts
    spread along elementwise operations, loops, reductions and broadcasts. Where two meet, `sm.convert` is inserted;
    what costs nothing to make again (constants, iota, broadcasts of scalars) is made again instead.

    Operands of products become `sm.load_shared` of a load, `sm.to_shared` of a value in registers, or stay in registers where the
    fragment of one product is already the operand of the next.

    `tile.num_warps` on the module says how many warps there are.
  }];
  let dependentDialects = ["::tegula::sm::SmDialect"];
}

def DeferReductions : Pass<"defer-reductions"> {
  let summary = "lanes combine what they have reduced only where the whole is needed";
  let description = [{
    A reduction along a row ends with a few steps from lane to lane that everything waits for. A `tile.any` on a condition of row maxima
    asks the parts that threads hold instead, and the maxima move to the branch that it guards. A sum that a loop
    carries, at most multiplied by factors of rows, is carried in parts and combined behind the loop; branches may choose what is
    added. A `tile.any` that asks whether that is above a limit asks each part for its share.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tegula::sm::SmDialect"];
}

def SpecializeWarps : Pass<"specialize-warps", "::mlir::ModuleOp"> {
  let summary = "one role feeds rings in shared memory, the others compute";
  let description = [{
    In modules with `tile.roles = "load"`. Each `sm.load_shared` whose place follows from scalars and loop variables alone, and that
    tensor cores of warpgroups read, moves to a producer, together with the scalar arithmetic and the loops around it:
    what is left of the program without any tile. The consumers run the rest, receive each tile before its first use and
    release its slot after the last one. Rings in a loop have `tile.num_stages` slots, others one, and the producer feeds
    them in the order in which their slots come back, so that it waits for none behind a later one. Products of warps may read
    the same tile; a fence follows them, since TMA writes there next, and each warp releases the slot.

    So does each large `tile.load` of 16-bit elements in a loop, whose tile goes to registers, if its ring finds room in
    `tile.shared_limit` bytes: where TMA can copy it. Where it cannot, each of the warps that read it moves its own rows
    there (`sm.fallback_copy`), since one warp would be slower than all of them. What a branch behind loads once more, such as a
    second attempt, is read from the same slot. Where each warp gives back another tile of the loop no sooner, both come
    back with that: the producer waits once for the two.

    The producer's warps come on top of the others, as `tile.producer_warps` says from then on. Registers are shared out
    so that the multiprocessor holds `tile.instances_per_sm` blocks (1 if the module has no such attribute).

    A program without such a fetch in a loop stays as it is, with a remark; later passes then let all warps copy.
  }];
  let dependentDialects = ["::tegula::sm::SmDialect"];
}

def OverlapMmas : Pass<"overlap-mmas", "::mlir::ModuleOp"> {
  let summary = "the last product of an iteration runs beside the first one of the next";
  let description = [{
    In modules with `tile.overlap = "pingpong"`. Where the last product of a consumers' loop only adds to what the loop
    carries, it is started one iteration later, together with that iteration's first product. Several warpgroups take turns at
    starting both, so that the tensor cores work for one while the others compute. The first iteration, now on its own, is folded
    with what the loop starts from; comparisons of the loop's variable with its first value are known in both.

    A loop stays as it is if the last product reads a tile of shared memory that the iteration computes, or one that an
    earlier product of the iteration reads, too. The next iteration may overwrite such a tile while the product still
    reads it. A remark names the reason.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::tegula::sm::SmDialect"];
}

def ReadEarly : Pass<"read-early"> {
  let summary = "tiles that go to registers are read while products are in flight";
  let description = [{
    What reads a tile that TMA has brought into registers moves before the wait for the product that comes before it,
    with all that it is computed from: the latency of shared memory is then part of that of the tensor cores. The slot
    is given back behind the next wait that leaves no product in flight: the fence before that takes until then.
  }];
}

def PipelineCopies : Pass<"pipeline-copies", "::mlir::ModuleOp"> {
  let summary = "copies to shared memory run ahead of the loop that reads them";
  let description = [{
    An `sm.load_shared` in a loop whose position depends on the loop variable only becomes a ring of `tile.num_stages` buffers
    (2 if the module has no such attribute): the copies of the first stages - 1 iterations start before the loop, each
    iteration waits for its own, starts those of a later one, and computes. All fetches of a loop share the groups, and
    the loop counts its slots in an i32. What is copied into a ring has been waited for when the loop ends.

    With one stage the copies of an iteration start together at its top.

    Fetches that read what the program itself writes, that depend on loaded or carried values, or whose loop contains
    another one that fetches, stay where they are.
  }];
  let dependentDialects = ["::tegula::sm::SmDialect"];
}

def KeepLhsInRegisters : Pass<"keep-lhs-in-registers", "::mlir::ModuleOp"> {
  let summary = "left operands that a loop does not change stay in registers";
  let description = [{
    In modules with `tile.lhs_in_registers`. A left operand of 16-bit elements that products of a loop read, and that is made before
    the loop, is read into registers there, once. Products of warpgroups hold it only beside other operands that a
    loop carries in registers, as those that overlap do: else ptxas 13.0 writes into it, without a word. Products of warps beside
    them are rare, and keep reading shared memory.
  }];
  let dependentDialects = ["::tegula::sm::SmDialect"];
}

def AllocateShared : Pass<"allocate-shared"> {
  let summary = "what is still a value in shared memory gets a buffer";
  let description = [{
    `sm.load_shared` becomes alloc, copy_in and commit where it was, and a wait before the op of its block that first reads the
    buffer or writes the tensor. Groups finish in order, so a wait counts the groups committed since, and none is needed
    where a later wait on the way to the reader covers the group: copies before a pipelined loop run beside the loop's
    first ones, as one group with them, and are covered by its waits. Since the loop may not run, a wait behind it ends
    them.

    `sm.to_shared` becomes alloc and write, as early in its block as its value is known, so that tiles share barriers.
    `sm.convert` and `sm.reshape` become alloc, write and read.
  }];
  let dependentDialects = ["::tegula::sm::SmDialect"];
}

def IssueLoadsEarly : Pass<"issue-loads-early"> {
  let summary = "loads into registers start at the top of the loop iteration that uses them";
  let description = [{
    A `tile.load` from a tensor that the program only reads moves to the start of its block, with the scalar arithmetic
    that its position needs: before the wait for the copies, and as far as possible from its use. Row statistics of the
    backward pass then arrive while the tensor cores work.
  }];
}

def ArrangeAdditions : Pass<"arrange-additions"> {
  let summary = "additions to memory come after other products, or in parts, as registers allow";
  let description = [{
    Where the sums of all products after a `tile.atomic_add` fit into registers together with its tile, it moves behind
    them: products then follow each other without a branch between, and the fragments of one are loaded while the other
    runs. Where not even the tile itself fits beside the sums that a loop carries, its product is computed and added in
    groups of columns.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tegula::sm::SmDialect"];
}

def PlanShared : Pass<"plan-shared", "::mlir::ModuleOp"> {
  let summary = "gives every buffer its place in shared memory";
  let description = [{
    Buffers whose lives do not overlap share memory. A life reaches from the first access to the last one, over the
    whole of a loop that lies between the alloc and an access inside, and from a copy_in to a wait that covers it on
    every path, unless it goes into a ring. Large buffers choose first, each the place of another of its size, or else the lowest that is free. `tile.shared_bytes` on the module says
    how much is needed.
  }];
  let dependentDialects = ["::tegula::sm::SmDialect"];
}

def InsertBarriers : Pass<"insert-barriers"> {
  let summary = "orders the threads' accesses to shared memory";
  let description = [{
    Walks the program with the sets of places read and written since the last barrier, and puts an `sm.barrier` before an
    access that conflicts with one of them: of buffers by the bytes that they share, of tensors that the program both
    reads and writes as a whole, unless view, layout and position show that every thread meets only its own accesses.
    Where every warp does, a barrier of the warp is enough. A loop is walked once more if its end conflicts with its
    beginning, where positions that an iteration computes are no longer the same. What conflicts with accesses before a
    loop or branch gets its barrier before it.

    A copy_in conflicts with what was accessed before it starts. Each thread waits for its own copies, so a barrier lies
    between the wait and the next access to what they have written; a wait moves down to there. In a pipelined loop that
    one barrier also lies between the readers of a slot and the copies that overwrite it.

    Scratch memory inside an op, as of a reduction between warps, is that op's business.
  }];
  let dependentDialects = ["::tegula::sm::SmDialect"];
}

def EndWarpgroupsEarly : Pass<"end-warpgroups-early"> {
  let summary = "warpgroups leave a loop where their rows see no more";
  let description = [{
    Of a block of 192 queries beside the diagonal the first 64 need 128 keys less than the last, the second 64. Where the bound of
    a loop is a `sm.row_limit`, each warpgroup gets a bound of its own, and takes the turns of the iterations that it leaves out.

    In another loop, as of a kernel that works on one block after another, it then receives what it has left out, and gives it
    back: the next block's tiles come behind those. Each warp does so for itself, and in the loop, too, because a slot counts
    either warps or warpgroups.

    In no other loop, nothing is received behind it. Two warpgroups leave out no more iterations than a ring has slots, but for
    one: no slot is filled again after those. The last does all: who receives the producer's last tile keeps shared memory alive until then.

    After barriers are in place: a loop in which the consumers meet stays as it is.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::tegula::sm::SmDialect"];
}

def LowerToThreads : Pass<"lower-to-threads", "::mlir::ModuleOp"> {
  let summary = "the program of one thread: scalars, instructions, no tiles";
  let description = [{
    Every tile becomes one value per register, every view a base address with sizes and strides, every shared buffer an
    address. The function's arguments become 64-bit words: for each parameter in order a tensor's base address, shape and
    strides, or a scalar in the low bytes of a word.
  }];
  let dependentDialects = ["::tegula::sm::SmDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::func::FuncDialect"];
}

#endif
