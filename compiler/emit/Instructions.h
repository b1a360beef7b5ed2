// SPDX-License-Identifier: MIT
// The instructions of an NVIDIA GPU that plain arithmetic does not express, one function each, for the lowering to
// threads: it needs no header of the LLVM or NVVM dialect, and what is emitted is listed in one place.
//
// Addresses are integers: i64 in global memory, i32 in shared memory. A predicate that is null means "always".
#pragma once

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tegula::emit {

/// Of barriers that order no memory.
inline constexpr llvm::StringLiteral kSequence = "sm.sequence";

class Instructions {
public:
  /// Emits at the builder's insertion point.
  explicit Instructions(mlir::ImplicitLocOpBuilder &b) : b_(b) {}

  //===-- Who am I: i32 ------------------------------------------------------------------------------------------===//
  mlir::Value thread();                ///< In the block, from 0 on.
  mlir::Value lane();                  ///< In the warp: 0 to 31.
  mlir::Value warp();                  ///< In the block; the compiler knows that it is uniform.
  mlir::Value program(unsigned axis);  ///< Position in the grid.
  mlir::Value programs(unsigned axis); ///< Size of the grid.
  mlir::Value sharedBase();            ///< Where the block's shared memory begins, 1024-byte aligned.

  //===-- Global memory ------------------------------------------------------------------------------------------===//
  /// One element, or `otherwise` where the predicate does not hold.
  mlir::Value load(mlir::Type type, mlir::Value address, mlir::Value predicate, mlir::Value otherwise);
  void store(mlir::Value element, mlir::Value address, mlir::Value predicate);
  /// 16 bytes as four i32; the address is 16-byte aligned.
  void storeVector(mlir::ValueRange words, mlir::Value address, mlir::Value predicate);
  /// Relaxed f32 or i32 additions to consecutive elements. Two or four f32 become one instruction where the GPU has it;
  /// the address is then aligned to all of them.
  void atomicAdd(mlir::ValueRange elements, mlir::Value address, mlir::Value predicate);
  /// Adds 1 to an i32, relaxed; what that was before.
  mlir::Value fetchIncrement(mlir::Value address);

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
  /// Among the `threads` threads of the block that name this barrier (i32): 1 to 15, as 0 is that of the whole block.
  void barrier(mlir::Value name, unsigned threads);
  /// The same between two warpgroups, of which the other passes the turn and goes on. It decides who comes first, and
  /// nobody may take it for an order of memory: these ops have the attribute `sm.sequence`.
  void waitForSequence(mlir::Value name, unsigned threads);
  void arriveAtSequence(mlir::Value name, unsigned threads);
  void syncWarp();

  //===-- sm_90a: asynchronous copies ----------------------------------------------------------------------------===//
  /// Of a kernel's parameter that is 128 bytes and describes a tensor.
  mlir::Type tensorMapType();
  /// Starts copying a box of a tensor to shared memory (128-byte aligned). `coordinates` are those of its first element
  /// (i32), innermost dimension first; what lies outside the tensor is 0. Its bytes count at the mbarrier. One lane
  /// does.
  void loadBox(mlir::Value shared, mlir::Value tensorMap, mlir::Value mbarrier, mlir::ValueRange coordinates);
  /// The inverse; what lies outside the tensor is not stored. It belongs to the group that the next commitBoxes ends.
  void storeBox(mlir::Value tensorMap, mlir::ValueRange coordinates, mlir::Value shared);
  void commitBoxes();
  /// Waits until all boxes that this thread stores have been read.
  void waitBoxes();
  /// An mbarrier is 8 bytes of shared memory. Its phase ends when `arrivals` threads have arrived and the bytes that
  /// they expect have come.
  void initMbarrier(mlir::Value mbarrier, unsigned arrivals);
  /// Makes what this thread has initialised visible to copies.
  void publishMbarriers();
  void arrive(mlir::Value mbarrier, mlir::Value predicate);
  void arriveExpecting(mlir::Value mbarrier, unsigned bytes);
  /// Waits until the phase of this parity (i32, 0 for the first) has ended.
  void waitMbarrier(mlir::Value mbarrier, mlir::Value parity);
  /// Orders this thread's plain accesses to shared memory and those of copies and products.
  void fenceAsync();

  //===-- sm_90a: warpgroups -------------------------------------------------------------------------------------===//
  /// What a thread may use from here on; all warps of a warpgroup do it. `more` says whether it had fewer.
  void setRegisters(unsigned count, bool more);
  /// One step of m64nNk16 on bf16 or f16 (`element`), asynchronously: the sums, N / 2 f32, are undefined until a
  /// waitMmas. `a` is one i32 (the low word of a descriptor) or four with a fragment; `b` is a low word. No `sums`
  /// means zeros.
  llvm::SmallVector<mlir::Value> multiplyAsync(mlir::Type element, unsigned n, mlir::ValueRange a, mlir::Value b,
                                               mlir::ValueRange sums, bool transposeA, bool transposeB);
  /// Before the first product, and after registers that it takes were written.
  void fenceMmas();
  void commitMmas();
  /// Waits until at most `pending` groups are not finished; returns `sums`, which have then arrived.
  llvm::SmallVector<mlir::Value> waitMmas(unsigned pending, mlir::ValueRange sums);

  //===-- Between lanes ------------------------------------------------------------------------------------------===//
  /// The value that lane ^ mask holds; any element type of a tile.
  mlir::Value shuffleXor(mlir::Value value, unsigned mask);
  /// The i32 that lane 0 holds; the compiler knows that it is uniform.
  mlir::Value ofFirstLane(mlir::Value word);
  /// i1: whether the condition holds in some lane of the warp; the compiler knows that this is uniform.
  mlir::Value anyLane(mlir::Value condition);

  //===-- Arithmetic ---------------------------------------------------------------------------------------------===//
  mlir::Value exp2(mlir::Value x); ///< f32, approximate to 2 ulp, denormals flushed.
  mlir::Value log2(mlir::Value x); ///< f32, approximate.
  mlir::Value tanh(mlir::Value x); ///< f32, relative error below 2^-10.9.
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
