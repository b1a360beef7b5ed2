// SPDX-License-Identifier: MIT
// The passes of the phase `layouts`. Keep in the order in which they run.
#ifndef TEGULA_CUDA_LAYOUTS_PASSES
#define TEGULA_CUDA_LAYOUTS_PASSES

include "compiler/cuda/OrderedPass.td"

def PrintProductCosts : Pass<"print-product-costs", "::mlir::ModuleOp"> {
  let summary = "says as remarks what each plan of `plan-products` for a dot would cost; not part of the phase";
  let description = [{
    For tests of the cost model, and to see why `plan-products` takes a plan. Each `tile.dot` has a remark for each way
    to compute it by warpgroups: flipped or not, and the warpgroups along the rows and the columns of what is computed.
    The remark has the modelled clocks of the function, in which all other dots have the plans that are chosen, or says
    why the dot cannot have the plan. A loop counts 16 times.
  }];
  let dependentDialects = ["::tegula::sm::SmDialect"];
}

def PrintProductGroups : Pass<"print-product-groups", "::mlir::ModuleOp"> {
  let summary = "says as remarks which tiles are tied to a dot, and so share its plan; not part of the phase";
  let description = [{
    For tests of the analysis, and to see why `plan-products` gives several dots one plan. Each result that is tied to a
    dot has a remark with the number of its group. The first dot of the function is in group 0.
  }];
  let dependentDialects = ["::tegula::sm::SmDialect"];
}

def PlanProducts : OrderedPass<"plan-products", "::mlir::ModuleOp"> {
  let summary = "decides which MMAs warpgroups compute, as which transpose, and how they divide the result";
  let description = [{
    With `tile.roles = "load"`, each `tile.dot` that fits gets two attributes. `tile.flipped` says
    whether `dot(a, b)` is computed as the transpose of `dot(b^T, a^T)`. `tile.warpgroups = [wm, wn]` divides the rows
    and columns of what is computed. An attribute that is already there is kept. Dots whose results elementwise ops,
    loops or branches tie together get the same decision. The pass tries all combinations and takes the lowest modelled
    cost: for each loop the larger one of tensor-core time and shared-memory time, and 100 clocks for each tile that
    warpgroups exchange. Ties prefer a result that is not flipped, then warpgroups along the rows.

    If the module has `tile.has_tensor_memory`, the GPU has tensor memory instead of such MMAs. A dot then gets
    `tile.in_tensor_memory` if a loop only adds to its accumulators, from 0 on, and loads both operands for it alone.

    A remark tells why a dot gets no warpgroup, no tensor memory, or no tensor core. An example, abridged from
    tests/plan-products.mlir (`@backward`). Before:

    ```mlir
    %s = tile.dot %q, %k {transpose_rhs} : tensor<64x128xbf16>, tensor<128x128xbf16> -> tensor<64x128xf32>
    ```

    After:

    ```mlir
    %s = tile.dot %q, %k {tile.flipped = true, tile.warpgroups = array<i64: 2, 1>, transpose_rhs} : ...
    ```
  }];
  let needs = ["tile.num_warps", "tile.roles"];
  let gives = ["tile.warpgroups", "tile.flipped", "tile.in_tensor_memory"];
}

def WidenProducts : OrderedPass<"widen-products", "::mlir::ModuleOp"> {
  let summary = "casts operands of 8 bits to f16 for MMAs of single warps";
  let description = [{
    Each e4m3 number is an f16 number, so the products are the same. Dots that warpgroups compute stay as they are. An
    example, abridged from tests/widen-products.mlir (`@of_e4m3`). Before:

    ```mlir
    %s = tile.dot %a, %b {transpose_rhs} : tensor<64x32xf8E4M3FN>, tensor<64x32xf8E4M3FN> -> tensor<64x64xf32>
    ```

    After:

    ```mlir
    %wide_a = arith.extf %a : tensor<64x32xf8E4M3FN> to tensor<64x32xf16>
    %wide_b = arith.extf %b : tensor<64x32xf8E4M3FN> to tensor<64x32xf16>
    %s = tile.dot %wide_a, %wide_b {transpose_rhs} : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let needs = ["tile.warpgroups"];
}

def AssignLayouts : OrderedPass<"assign-layouts", "::mlir::ModuleOp"> {
  let summary = "chooses which thread holds which element of each tile";
  let description = [{
    Every tile gets a `#sm.layout`. Each `tile.dot` takes the grid of warps with the lowest modelled cost: bytes read
    from shared memory, tensor-core time, and a large penalty for rows or columns that several warps would have to
    reduce together. A dot with `tile.warpgroups` takes the grid that `plan-products` chose; if it is `tile.flipped`, it
    becomes the transpose of a dot. The result takes the accumulator layout of the tensor cores. From the results,
    layouts spread along elementwise ops, loops, reductions and broadcasts. Where two layouts meet, the pass inserts
    `sm.convert`; constants, iotas and broadcasts of scalars are recomputed instead.

    Each `tile.dot` becomes `sm.mma` or `sm.wgmma`. An operand that comes from a load becomes `sm.load_shared`, and one
    that comes from registers becomes `sm.to_shared`. A left operand stays in registers if it already has the operand
    layout, such as the result of another MMA.

    `tile.num_warps` on the module is the number of warps, 4 by default.
  }];
  let needs = ["tile.warpgroups", "tile.in_tensor_memory"];
  let gives = ["sm.layout", "sm.load_shared", "sm.to_shared", "sm.convert"];
  let ends = ["tile.warpgroups", "tile.flipped", "tile.in_tensor_memory"];
}

def DeferReductions : OrderedPass<"defer-reductions"> {
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
  let needs = ["sm.layout"];
  let gives = ["sm.partial_reduce"];
}

#endif
