// SPDX-License-Identifier: MIT
// The instructions of an NVIDIA GPU that plain arithmetic does not express, one function each, for the lowering to
// threads: it needs no header of the LLVM or NVVM dialect, and what is emitted is listed in one place.
//
// Addresses are integers: i64 in global memory, i32 in shared memory. A predicate that is null means "always".
#pragma once

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tegula::emit {

class Instructions {
public:
  /// Emits at the builder's insertion point.
  explicit Instructions(mlir::ImplicitLocOpBuilder &b) : b_(b) {}

  //===-- Who am I: i32 ------------------------------------------------------------------------------------------===//
  mlir::Value thread();               ///< In the block: 0 to 32 * num_warps - 1.
  mlir::Value lane();                 ///< In the warp: 0 to 31.
  mlir::Value warp();                 ///< In the block; the compiler knows that it is uniform.
  mlir::Value program(unsigned axis); ///< Position in the grid.
  mlir::Value sharedBase();           ///< Where the block's shared memory begins, 1024-byte aligned.

  //===-- Global memory ------------------------------------------------------------------------------------------===//
  /// One element, or `otherwise` where the predicate does not hold.
  mlir::Value load(mlir::Type type, mlir::Value address, mlir::Value predicate, mlir::Value otherwise);
  void store(mlir::Value element, mlir::Value address, mlir::Value predicate);
  /// 16 bytes as four i32; the address is 16-byte aligned.
  void storeVector(mlir::ValueRange words, mlir::Value address, mlir::Value predicate);
  /// Relaxed f32 or i32 additions to consecutive elements. Two or four f32 become one instruction where the GPU has it;
  /// the address is then aligned to all of them.
  void atomicAdd(mlir::ValueRange elements, mlir::Value address, mlir::Value predicate);

  //===-- Shared memory ------------------------------------------------------------------------------------------===//
  /// `count` consecutive elements, in accesses as wide as their total size (at most 16 bytes, aligned to it).
  llvm::SmallVector<mlir::Value> loadShared(mlir::Type type, unsigned count, mlir::Value address);
  void storeShared(mlir::ValueRange elements, mlir::Value address);
  void storeShared(mlir::ValueRange elements, mlir::Value address, mlir::Value predicate);
  /// 1, 2 or 4 matrices of 8 x 8 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8.
  llvm::SmallVector<mlir::Value> loadMatrices(unsigned count, bool transposed, mlir::Value address);
  void storeMatrices(mlir::ValueRange words, bool transposed, mlir::Value address);
  /// 16 bytes, of which the first `bytes` (i32, 0 to 16) come from memory and the rest are 0.
  void copyAsync(mlir::Value shared, mlir::Value global, mlir::Value bytes);
  void commitCopies();
  void waitCopies(unsigned pending);
  void barrier();

  //===-- Between lanes ------------------------------------------------------------------------------------------===//
  /// The value that lane ^ mask holds; any element type of a tile.
  mlir::Value shuffleXor(mlir::Value value, unsigned mask);
  /// i1: whether the condition holds in some lane of the warp; the compiler knows that this is uniform.
  mlir::Value anyLane(mlir::Value condition);

  //===-- Arithmetic ---------------------------------------------------------------------------------------------===//
  mlir::Value exp2(mlir::Value x); ///< f32, approximate to 2 ulp, denormals flushed.
  mlir::Value log2(mlir::Value x); ///< f32, approximate.
  /// Two 16-bit elements as one i32, `low` in the low half; the inverse.
  mlir::Value pack(mlir::Value low, mlir::Value high);
  std::pair<mlir::Value, mlir::Value> unpack(mlir::Type element, mlir::Value word);
  /// m16n8k16 of bf16 or f16 (`element`): a is four i32, b two, c four f32; returns four f32.
  llvm::SmallVector<mlir::Value> mma16(mlir::Type element, mlir::ValueRange a, mlir::ValueRange b, mlir::ValueRange c);
  /// m16n8k8 of tf32: a is four i32, b two, c four f32; returns four f32.
  llvm::SmallVector<mlir::Value> mmaTf32(mlir::ValueRange a, mlir::ValueRange b, mlir::ValueRange c);
  mlir::Value toTf32(mlir::Value x); ///< f32 to the nearest tf32, as i32.

private:
  mlir::ImplicitLocOpBuilder &b_;
};

} // namespace tegula::emit
