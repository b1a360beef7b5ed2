// SPDX-License-Identifier: MIT
// What code for the simt target calls: the instructions of a GPU, one function each, as plain C.
//
// A kernel runs once for each lane of a block. Memory is reached through these functions only: addresses of global
// memory are not the host's, those of shared memory are 32-bit and begin at kSimtSharedBase. `site` numbers the
// instruction in the program; the artifact's text says where it came from. An operation does nothing where `predicate`
// is 0. Operations that PTX calls .sync are for all lanes of a warp; of each, the lane passes its own registers.
#pragma once

#include <cstdint>

namespace tegula {

/// The lane that calls.
struct SimtLane;

inline constexpr uint32_t kSimtSharedBase = 1024;

enum class SimtRegister : uint32_t { Thread, ProgramX, ProgramY, ProgramZ };
/// The lane whose value is read: own number ^ operand, or the operand.
enum class SimtShuffle : uint32_t { Xor, Index };
enum class SimtVote : uint32_t { Any, All, Ballot };
enum class SimtAtomic : uint32_t { F32, I32 };
/// m16n8k16 of two bf16 or f16, m16n8k8 of tf32; sums are f32.
enum class SimtMma : uint32_t { Bf16, F16, Tf32 };

struct SimtOps {
  uint32_t (*special)(SimtLane *, uint32_t which); ///< SimtRegister.

  //===-- Memory -------------------------------------------------------------------------------------------------===//
  void (*load)(SimtLane *, uint32_t site, uint32_t predicate, uint64_t address, uint32_t bytes, void *to);
  void (*store)(SimtLane *, uint32_t site, uint32_t predicate, uint64_t address, uint32_t bytes, const void *from);
  void (*load_shared)(SimtLane *, uint32_t site, uint32_t predicate, uint32_t address, uint32_t bytes, void *to);
  void (*store_shared)(SimtLane *, uint32_t site, uint32_t predicate, uint32_t address, uint32_t bytes,
                       const void *from);
  /// Relaxed additions to `count` consecutive elements of type SimtAtomic.
  void (*atomic_add)(SimtLane *, uint32_t site, uint32_t predicate, uint64_t address, uint32_t type, uint32_t count,
                     const void *from);
  void (*load_matrices)(SimtLane *, uint32_t site, uint32_t address, uint32_t count, uint32_t transposed, void *to);
  void (*store_matrices)(SimtLane *, uint32_t site, uint32_t address, uint32_t count, uint32_t transposed,
                         const void *from);

  //===-- Order --------------------------------------------------------------------------------------------------===//
  /// Starts a copy of `size` bytes, of which the first `bytes` come from global memory and the rest are 0.
  void (*copy_async)(SimtLane *, uint32_t site, uint32_t shared, uint64_t global, uint32_t size, uint32_t bytes);
  void (*commit_copies)(SimtLane *, uint32_t site);
  void (*wait_copies)(SimtLane *, uint32_t site, uint32_t pending);
  /// 0 threads: all of the block.
  void (*barrier)(SimtLane *, uint32_t site, uint32_t id, uint32_t threads);
  void (*barrier_warp)(SimtLane *, uint32_t site);

  //===-- Between lanes, and arithmetic --------------------------------------------------------------------------===//
  uint32_t (*shuffle)(SimtLane *, uint32_t site, uint32_t kind, uint32_t value, uint32_t operand);
  /// Of whether `predicate` is not 0 in the lanes of the warp.
  uint32_t (*vote)(SimtLane *, uint32_t site, uint32_t kind, uint32_t predicate);
  /// a, b, c and d: the registers of the fragments; c and d are four f32, tf32 and pairs of 16 bits are words.
  void (*mma)(SimtLane *, uint32_t site, uint32_t kind, const void *a, const void *b, const void *c, void *d);
  float (*exp2)(float);       ///< Subnormal operands and results are 0.
  float (*log2)(float);       ///< Subnormal operands are 0.
  uint32_t (*to_tf32)(float); ///< To nearest, ties away from zero.
  uint32_t (*to_bf16)(float); ///< To nearest, ties to even; in the low half.
};

/// simt artifacts export `kernel` with this type, and a string `kernel.sites` with one line `INSTRUCTION PLACE` for
/// each site, in order. `words` are those of a cuda artifact.
using SimtKernel = void (*)(const SimtOps *ops, SimtLane *lane, const int64_t *words);

} // namespace tegula
