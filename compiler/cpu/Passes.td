// SPDX-License-Identifier: MIT
#ifndef TEGULA_CPU_PASSES
#define TEGULA_CPU_PASSES

include "mlir/Pass/PassBase.td"

def PlanBuffers : Pass<"plan-buffers", "::mlir::func::FuncOp"> {
  let summary = "decides which tiles get buffers, and in which order their elements are stored";
  let description = [{
    Writes six attributes, and keeps those that exist already:

    - `tile.buffer = "row" | "column"` on each op whose result is kept in memory. Without it, the value is recomputed at
      each use.
    - `tile.in_place` on each op whose result may overwrite the loop-carried tile that it replaces.
    - `tile.buffers`, with one word per result, on loops and branches that carry tiles.
    - `tile.alias` on loads of read-only matrices of floats that dots read only once. Such dots read the tensor, which
      saves a copy, where it has the whole tile and its rows are contiguous. They read narrow floats only in vectors.
    - `tile.continues` on such loads if the next iteration of the loop loads the rows that follow.
    - `tile.along_depth` on dots whose vectors run along the depth of both operands instead of along the result.

    If two dots need a loaded tile in different orders, the load is cloned.

    The orders of all matrices are chosen together, by trying every assignment. A dot needs either a row-major result
    and a right operand with contiguous rows, or a column-major result and a left operand with contiguous columns. A dot
    of few rows or columns may have both operands contiguous along the depth instead. A wrong order costs a strided
    copy, weighted by loop depth, and a short contiguous side costs empty lanes.

    Runs after simplification, because it counts instructions, and before `lower-to-loops`, which obeys the attributes.
    Rounding: none.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def LowerToLoops : Pass<"lower-to-loops", "::mlir::ModuleOp"> {
  let summary = "lowers tiles to loops over vectors";
  let description = [{
    Replaces the kernel by a function over bare memory. Its arguments are the tensors, the words of shapes, strides and
    scalars, the program id, the size of the grid, and the buffers that `plan-buffers` asked for. `tile.scratch` of the
    module lists the bytes of each buffer. Each buffered tile becomes one loop nest. Values without a buffer are
    computed inside the nests that use them. Dots are register-blocked, and prefetch what they read from tensors. An
    atomic add holds the lock of the row that it adds to.

    Tiles of narrower floats are f32 that have been rounded. exp2 becomes a polynomial of relative error below 2^-23.
    `tile.lanes` of the module is the number of 32-bit elements in a vector register: 8 (AVX2, the default) or 16
    (AVX-512).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def ApproximateMath : Pass<"approximate-math", "::mlir::ModuleOp"> {
  let summary = "replaces functions without an instruction, such as log2, by polynomials";
  let description = [{
    Expands `math.erf`, `math.sin`, `math.cos` and `math.powf` of f32 by the formulas that all targets share
    (compiler/tile/Functions.cpp). For other functions it uses upstream's approximations, with errors of a few units in
    the last place. No element then costs a call of libm, and the shared object needs no symbol from outside. Runs after
    `lower-to-loops`, which makes the operands vectors.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif
