// SPDX-License-Identifier: MIT
// The passes of the phase `layouts`. Keep in the order in which they run.
#ifndef TEGULA_CUDA_LAYOUTS_PASSES
#define TEGULA_CUDA_LAYOUTS_PASSES

include "mlir/Pass/PassBase.td"

def AssignLayouts : Pass<"assign-layouts", "::mlir::ModuleOp"> {
  let summary = "chooses which thread holds which element of each tile";
  let description = [{
    Every tile gets a `#sm.layout`. Each `tile.dot` takes the grid of warps with the lowest modelled cost: bytes read
    from shared memory, tensor-core time, and a large penalty for rows or columns that several warps would have to
    reduce together. A dot for warpgroups takes all warps along its rows. The result takes the accumulator layout of the
    tensor cores. From the results, layouts spread along elementwise ops, loops, reductions and broadcasts. Where two
    layouts meet, the pass inserts `sm.convert`; constants, iotas and broadcasts of scalars are recomputed instead.

    Each `tile.dot` becomes `sm.mma` or `sm.wgmma`. An operand that comes from a load becomes `sm.load_shared`, and one
    that comes from registers becomes `sm.to_shared`. A left operand stays in registers if it already has the operand
    layout, such as the result of another MMA.

    `tile.num_warps` on the module is the number of warps, 4 by default.
  }];
  let dependentDialects = ["::tegula::sm::SmDialect"];
}

def DeferReductions : Pass<"defer-reductions"> {
  let summary = "lets each thread keep partial results of a reduction until the whole row is needed";
  let description = [{
    A reduction along a row ends with shuffles between lanes, and everything after it waits for them. This pass delays
    the shuffles in two patterns:

    - A `tile.any` on a condition of row maxima or minima. It tests the partial results of the threads instead. What
      only the branch that it guards needs, such as the whole maximum, moves into the branch.
    - A row sum that a loop carries from 0, at most multiplied by row factors. The loop carries partial sums, and the
      lanes combine them after the loop. Branches may choose what is added. A `tile.any` that tests whether such a sum
      is above a limit compares each of the n partial sums with limit / n.

    Other reductions stay as they are. An example of the first pattern, abridged from tests/defer-reductions.mlir
    (`@condition`). Before:

    ```mlir
    %max = tile.reduce max %s axis 1                   // shuffles between lanes
    %exceeds = arith.cmpf ogt, %max, %m
    %any = tile.any %exceeds
    scf.if %any { arith.select %exceeds, %max, %m ... }
    ```

    After:

    ```mlir
    %parts = sm.partial_reduce max %s axis 1           // tensor<64x4xf32>: four lanes share a row
    %exceeds = arith.cmpf ogt, %parts, %m_broadcast
    %any = tile.any %exceeds
    scf.if %any {
      %max = tile.reduce max %parts axis 1
      %where = arith.cmpf ogt, %max, %m
      arith.select %where, %max, %m ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tegula::sm::SmDialect"];
}

#endif
