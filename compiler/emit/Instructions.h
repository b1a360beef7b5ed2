// SPDX-License-Identifier: MIT
// One function for each instruction of an NVIDIA GPU that plain arithmetic does not express. The lowering to threads
// calls them, so that it needs no header of the LLVM or NVVM dialect, and so that one file lists all emitted
// instructions.
//
// Addresses are integers: i64 in global memory, i32 in shared memory. A null predicate means "always".
#pragma once

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <array>
#include <optional>

namespace tegula::emit {

/// The attribute of barriers that order no memory.
inline constexpr llvm::StringLiteral kSequence = "sm.sequence";

/// The operands of a wgmma: the word for their element type, the depth of one step, and for each operand whether the
/// instruction transposes it. `transposes` is empty for element types that must be K-major.
struct WgmmaType {
  llvm::StringRef element;
  int64_t depth;
  std::optional<std::array<bool, 2>> transposes;
};

/// The operands of a tcgen05.mma of 128 rows: the word for their element type, the columns of the result, and for each
/// operand whether the depth lies along its rows in shared memory.
struct TensorMma {
  llvm::StringRef element;
  unsigned columns;
  std::array<bool, 2> transposes;
};

/// A builder of GPU instructions. They are emitted at the insertion point of `b`.
class Instructions {
public:
  explicit Instructions(mlir::ImplicitLocOpBuilder &b) : b_(b) {}

  //===-- Indices and sizes: i32 ---------------------------------------------------------------------------------===//
  mlir::Value thread();                ///< The thread's index in the block, from 0 on.
  mlir::Value lane();                  ///< The lane's index in the warp, 0 to 31.
  mlir::Value warp();                  ///< The warp's index in the block. LLVM knows that it is uniform.
  mlir::Value program(unsigned axis);  ///< The program instance's index in the grid.
  mlir::Value programs(unsigned axis); ///< The size of the grid.
  mlir::Value sharedBase();            ///< The address of the block's shared memory, 1024-byte aligned.

  //===-- Global memory ------------------------------------------------------------------------------------------===//
  /// Loads one element. Returns `otherwise` where the predicate is false.
  mlir::Value load(mlir::Type type, mlir::Value address, mlir::Value predicate, mlir::Value otherwise);
  /// Loads `count` consecutive elements, at most 16 bytes, in one access. The address is aligned to all of them.
  llvm::SmallVector<mlir::Value> load(mlir::Type type, unsigned count, mlir::Value address, mlir::Value predicate,
                                      mlir::Value otherwise);
  /// Stores consecutive elements, at most 16 bytes, in one access. The address is aligned to all of them.
  void store(mlir::ValueRange elements, mlir::Value address, mlir::Value predicate);
  /// Adds f32 or i32 elements to consecutive elements in memory, atomically and relaxed. From sm_90 on, two or four f32
  /// are one instruction. The address is then aligned to all of them.
  void atomicAdd(mlir::ValueRange elements, mlir::Value address, mlir::Value predicate);
  /// Adds 1 to an i32, atomically and relaxed. Returns the value before the addition.
  mlir::Value fetchIncrement(mlir::Value address);
  /// Adds 1 to an i32, and makes it 0 instead if it is `last` already. Returns the value before. What happened before
  /// earlier arrivals happens before what this thread does next.
  mlir::Value arriveAtCounter(mlir::Value address, mlir::Value last);
  /// Waits until an i32 is at least `number`. What happened before the passTurn that made it so happens before what
  /// this thread does next.
  void waitForTurn(mlir::Value address, mlir::Value number);
  /// Returns an i32 that passTurn raises. What happened before that happens before what this thread does next.
  mlir::Value readTurn(mlir::Value address);
  /// Raises an i32 to `number`, unless it is larger. What this thread has done happens before.
  void passTurn(mlir::Value address, mlir::Value number);

  //===-- Shared memory ------------------------------------------------------------------------------------------===//
  /// Loads `count` consecutive elements, in accesses as wide as their total size. An access has at most 16 bytes, and
  /// its address is aligned to its size.
  llvm::SmallVector<mlir::Value> loadShared(mlir::Type type, unsigned count, mlir::Value address);
  void storeShared(mlir::ValueRange elements, mlir::Value address);
  void storeShared(mlir::ValueRange elements, mlir::Value address, mlir::Value predicate);
  /// Loads 1, 2 or 4 matrices of 8 x 8 16-bit elements. Lane l gives the address of row l % 8 of matrix l / 8.
  llvm::SmallVector<mlir::Value> loadMatrices(unsigned count, bool transposed, mlir::Value address);
  void storeMatrices(mlir::ValueRange words, bool transposed, mlir::Value address);
  /// Copies 16 bytes asynchronously. The first `bytes` (i32, 0 to 16) come from global memory, and the rest are 0.
  void copyAsync(mlir::Value shared, mlir::Value global, mlir::Value bytes);
  void commitCopies();
  void waitCopies(unsigned pending);
  void barrier();
  /// Waits at the barrier `name` (i32, 1 to 15) for `threads` threads of the block. The barrier of the whole block is
  /// 0.
  void barrier(mlir::Value name, unsigned threads);
  /// Arrives at the barrier `name` without waiting. The barrier counts the threads that arrive and those that wait.
  void arriveAtBarrier(mlir::Value name, unsigned threads);
  /// Waits at a barrier at which another warpgroup only arrives. It decides which warpgroup comes first, and orders no
  /// memory. The op and that of arriveAtSequence therefore have the attribute `sm.sequence`.
  void waitForSequence(mlir::Value name, unsigned threads);
  void arriveAtSequence(mlir::Value name, unsigned threads);
  void syncWarp();

  //===-- sm_90a: asynchronous copies ----------------------------------------------------------------------------===//
  /// Returns the type of a kernel parameter that holds a tensor map of 128 bytes.
  mlir::Type tensorMapType();
  /// Starts copying a box of a tensor to shared memory (128-byte aligned). `coordinates` are those of the box's first
  /// element (i32), innermost dimension first. Elements outside the tensor become 0. The mbarrier counts the bytes. One
  /// lane executes it.
  void loadBox(mlir::Value shared, mlir::Value tensorMap, mlir::Value mbarrier, mlir::ValueRange coordinates);
  /// Starts copying a box from shared memory to a tensor, and drops elements outside the tensor. The copy belongs to
  /// the commit group that the next commitBoxes ends.
  void storeBox(mlir::Value tensorMap, mlir::ValueRange coordinates, mlir::Value shared);
  /// Starts adding a box of f32 in shared memory to a tensor, atomically and relaxed. Otherwise like storeBox.
  void addBox(mlir::Value tensorMap, mlir::ValueRange coordinates, mlir::Value shared, mlir::Value predicate);
  void commitBoxes();
  /// Waits until the boxes that this thread stores or adds have been read from shared memory, except for those of the
  /// last `pending` commit groups.
  void waitBoxes(unsigned pending = 0);
  /// Waits until all boxes that this thread stores or adds are in the tensor.
  void waitBoxesWritten();
  /// Initializes an mbarrier, which is 8 bytes of shared memory. Its phase ends when `arrivals` threads have arrived
  /// and all bytes that they expect have come.
  void initMbarrier(mlir::Value mbarrier, unsigned arrivals);
  /// Makes the mbarriers that this thread has initialized visible to asynchronous copies.
  void publishMbarriers();
  void arrive(mlir::Value mbarrier, mlir::Value predicate);
  void arriveExpecting(mlir::Value mbarrier, unsigned bytes);
  /// Waits until the phase of this parity (i32, 0 for the first) has ended.
  void waitMbarrier(mlir::Value mbarrier, mlir::Value parity);
  /// Orders this thread's plain accesses to shared memory with those of asynchronous copies and wgmmas.
  void fenceAsync();
  /// Orders accesses to tensors that happen before with those of asynchronous copies that this thread starts next.
  void fenceAsyncTensors();

  //===-- sm_90a: warpgroups -------------------------------------------------------------------------------------===//
  /// Sets the number of registers of each thread from here on. All warps of a warpgroup execute it. `more` is true if
  /// the threads had fewer registers.
  void setRegisters(unsigned count, bool more);
  /// Starts one step of wgmma, m64nNkDEPTH. The accumulators, N / 2 f32, are undefined until a waitMmas. `a` is one i32
  /// (the low word of a descriptor) or four i32 with a fragment. `b` is a low word. If `sums` is empty, the
  /// accumulators start at 0.
  llvm::SmallVector<mlir::Value> multiplyAsync(const WgmmaType &type, unsigned n, mlir::ValueRange a, mlir::Value b,
                                               mlir::ValueRange sums);
  /// Returns the registers, but none of them twice. Accumulators must be so before the fence: LLVM would copy them
  /// after it.
  llvm::SmallVector<mlir::Value> distinct(mlir::ValueRange registers);
  /// Emits the fence that is needed before the first wgmma, and after writes to registers that a wgmma reads.
  void fenceMmas();
  void commitMmas();
  /// Waits until at most `pending` commit groups are not finished. Returns `sums`, which are then valid.
  llvm::SmallVector<mlir::Value> waitMmas(unsigned pending, mlir::ValueRange sums);

  //===-- sm_100a: tensor memory ---------------------------------------------------------------------------------===//
  /// Allocates columns of tensor memory, a power of 2 from 32 on, and writes their address to shared memory. Waits
  /// until they are free. A warp executes it.
  void allocateTensor(mlir::Value shared, unsigned columns);
  /// Says that the thread block allocates no more, so that others may. A warp executes it.
  void relinquishTensor();
  void freeTensor(mlir::Value address, unsigned columns);
  /// Starts one step of tcgen05.mma, m128nNk16. `to` is an address in tensor memory, `a` and `b` are low words of
  /// descriptors. It adds to what is there if `accumulate`, an i1, is true. One lane executes it.
  void multiplyToTensor(const TensorMma &type, mlir::Value to, mlir::Value a, mlir::Value b, mlir::Value accumulate);
  /// Arrives at the mbarrier when the products that this thread has started are over.
  void commitTensor(mlir::Value mbarrier);
  /// Loads `count` columns, f32, of the warp's 32 lanes of tensor memory, and waits for them.
  llvm::SmallVector<mlir::Value> loadTensor(mlir::Value address, unsigned count);
  /// Orders accesses to tensor memory before the thread meets others, and after it has.
  void fenceTensorBefore();
  void fenceTensorAfter();

  //===-- Between lanes ------------------------------------------------------------------------------------------===//
  /// Returns the value that lane ^ mask has, for any element type of a tile.
  mlir::Value shuffleXor(mlir::Value value, unsigned mask);
  /// Returns the i32 that a lane (i32) has, or lane 0. LLVM knows that it is uniform.
  mlir::Value ofLane(mlir::Value word, mlir::Value lane);
  mlir::Value ofFirstLane(mlir::Value word);
  /// Returns an i1 that is true in one lane of the warp, whose lanes meet here. ptxas knows that it is one, and
  /// computes in uniform registers what only this lane does.
  mlir::Value electLane();
  /// Returns an i1 that is true if the condition is true in some lane of the warp. LLVM knows that it is uniform.
  mlir::Value anyLane(mlir::Value condition);

  //===-- Arithmetic ---------------------------------------------------------------------------------------------===//
  mlir::Value exp2(mlir::Value x); ///< f32, approximate to 2 ulp, denormals flushed.
  mlir::Value log2(mlir::Value x); ///< f32, approximate.
  /// Returns 1 / x, f32: approximate to 1 ulp, denormals flushed.
  mlir::Value reciprocal(mlir::Value x);
  mlir::Value divide(mlir::Value x, mlir::Value y); ///< f32, approximate to 2 ulp.
  mlir::Value tanh(mlir::Value x);                  ///< f32, relative error below 2^-10.9.
  /// Returns an i32 whose low `count` bits are 1. `count` is an unsigned i32, and may be larger than 32.
  mlir::Value lowBits(mlir::Value count);
  /// Casts two f32 to e4m3, and two e4m3 to f16, in the same order. Needs sm_90.
  std::pair<mlir::Value, mlir::Value> toE4m3(mlir::Value low, mlir::Value high);
  std::pair<mlir::Value, mlir::Value> fromE4m3(mlir::Value low, mlir::Value high);
  /// Returns two 16-bit elements as one i32, with `low` in the low half. `unpack` is the inverse.
  mlir::Value pack(mlir::Value low, mlir::Value high);
  std::pair<mlir::Value, mlir::Value> unpack(mlir::Type element, mlir::Value word);
  /// Multiplies m16n8k16 of bf16 or f16 (`element`): a is four i32, b two, c four f32. Returns four f32.
  llvm::SmallVector<mlir::Value> mma16(mlir::Type element, mlir::ValueRange a, mlir::ValueRange b, mlir::ValueRange c);
  /// Multiplies m16n8k8 of tf32: a is four i32, b two, c four f32. Returns four f32.
  llvm::SmallVector<mlir::Value> mmaTf32(mlir::ValueRange a, mlir::ValueRange b, mlir::ValueRange c);
  mlir::Value toTf32(mlir::Value x); ///< f32 to the nearest tf32, as i32.

private:
  mlir::ImplicitLocOpBuilder &b_;
};

} // namespace tegula::emit
