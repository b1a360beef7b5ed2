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

    Operands of products become `sm.fetch` of a load, `sm.stage` of a value in registers, or stay in registers where the
    fragment of one product is already the operand of the next.

    `tile.num_warps` on the module says how many warps there are.
  }];
  let dependentDialects = ["::tegula::sm::SmDialect"];
}

def PipelineCopies : Pass<"pipeline-copies", "::mlir::ModuleOp"> {
  let summary = "copies to shared memory run ahead of the loop that reads them";
  let description = [{
    An `sm.fetch` in a loop whose position depends on the loop variable only becomes a ring of `tile.num_stages` buffers
    (2 if the module has no such attribute): the copies of the first stages - 1 iterations start before the loop, each
    iteration waits for its own, starts those of a later one, and computes. All fetches of a loop share the groups.

    Fetches that read what the program itself writes, or that depend on loaded values, stay where they are.
  }];
  let dependentDialects = ["::tegula::sm::SmDialect"];
}

def AllocateShared : Pass<"allocate-shared"> {
  let summary = "what is still a value in shared memory gets a buffer";
  let description = [{
    `sm.fetch` becomes alloc, copy_in, commit and wait; `sm.stage` alloc and write; `sm.convert` and `sm.reshape` alloc, write and read.
    A fetch outside loops waits only where its buffer is first read.
  }];
  let dependentDialects = ["::tegula::sm::SmDialect"];
}

def PlanShared : Pass<"plan-shared", "::mlir::ModuleOp"> {
  let summary = "gives every buffer its place in shared memory";
  let description = [{
    Buffers whose lives do not overlap share memory. A life reaches from the first access to the last one, over the
    whole of a loop that lies between the alloc and an access inside. `tile.shared_bytes` on the module says how much
    is needed.
  }];
  let dependentDialects = ["::tegula::sm::SmDialect"];
}

def InsertBarriers : Pass<"insert-barriers"> {
  let summary = "orders the threads' accesses to shared memory";
  let description = [{
    Walks the program with the sets of places read and written since the last barrier, and puts an `sm.barrier` before an
    access that conflicts with one of another thread; loops are walked until nothing changes. A copy_in writes when it
    starts (nobody may still read the buffer) and is visible when a wait covers it (nobody may read before).
  }];
  let dependentDialects = ["::tegula::sm::SmDialect"];
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
