// SPDX-License-Identifier: MIT
#ifndef TEGULA_CPU_PASSES
#define TEGULA_CPU_PASSES

include "mlir/Pass/PassBase.td"

def PlanBuffers : Pass<"plan-buffers", "::mlir::func::FuncOp"> {
  let summary = "decides which tiles live in buffers, and in which order their elements lie";
  let description = [{
    Writes `tile.buffer = "row" | "column"` on each op whose result is kept in memory (absent: the value is recomputed
    where it is used), `tile.in_place` where the result may overwrite the loop-carried tile that it replaces, and
    `tile.buffers` (one word per result) on loops and branches that carry tiles. An attribute that is already there is
    kept. A load that two matrix products want in different orders is cloned.

    Orders are chosen together, by trying every assignment: a matrix product needs either a row-major result and
    a right operand whose rows are contiguous, or a column-major result and a left operand whose columns are. Price of
    a wrong order: a strided copy, weighted by loop depth.

    Runs after simplification, because it counts instructions; before `lower-to-loops`, which obeys. Rounding: none.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def LowerToLoops : Pass<"lower-to-loops", "::mlir::ModuleOp"> {
  let summary = "tiles to loops over vectors";
  let description = [{
    Replaces the kernel by a function over bare memory with one argument for each of: the tensors, the words of shapes
    and strides, the program id, and the buffers that `plan-buffers` asked for (`tile.scratch` of the module: the bytes
    of each). Each buffered tile becomes one loop nest; everything without a buffer is computed inside the nests that
    use it. Matrix products are register-blocked; rows of an atomic add are taken under a lock.

    f16 and bf16 tiles are held as f32 that has been rounded. exp2 becomes a polynomial of relative error below 2^-23.
    `tile.lanes` of the module says how many 32-bit elements a vector register has: 8 (AVX2, the default) or 16 (AVX-512).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def ApproximateMath : Pass<"approximate-math", "::mlir::ModuleOp"> {
  let summary = "tanh, log2 and what else has no instruction become polynomials";
  let description = [{
    Upstream's approximations (errors of a few units in the last place), so that no element costs a call of libm and the
    shared object needs no symbol from outside. Runs after `lower-to-loops`, where the operands are vectors.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif
