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
/// Shared memory of another program instance of the cluster: its rank + 1 stands above these bits of an address.
inline constexpr uint32_t kSimtRankShift = 24;

enum class SimtRegister : uint32_t {
  Thread,
  ProgramX,
  ProgramY,
  ProgramZ,
  ProgramsX,
  ProgramsY,
  ProgramsZ,
  ClusterRank
};
/// The lane whose value is read: own number ^ operand, or the operand.
enum class SimtShuffle : uint32_t { Xor, Index };
enum class SimtVote : uint32_t { Any, All, Ballot };
enum class SimtAtomic : uint32_t { F32, I32 };
/// mma: m16n8k16 of two bf16 or f16, m16n8k8 of tf32. wgmma: m64nNk16 and m64nNk8. Sums are f32.
enum class SimtMma : uint32_t { Bf16, F16, Tf32 };
/// Which accesses a fence makes visible to the asynchronous proxy: all, or initialisations of mbarriers.
enum class SimtFence : uint32_t { AsyncProxy, MbarrierInit };
/// Direction of a bulk copy: into shared memory; out of it; added, in f32, to what is there.
enum class SimtBulk : uint32_t { Load, Store, AddF32 };

/// What a kernel of the simt target sees in the place of a CUtensorMap. Dimension 0 is the innermost, of stride
/// `element_bytes`; sizes and the box are in elements, strides in bytes.
struct SimtTensorMap {
  uint64_t address = 0; ///< In the kernel's global memory.
  uint32_t rank = 0, element_bytes = 0;
  uint32_t swizzle = 0; ///< Bytes: 0, 32, 64 or 128.
  uint32_t box[5] = {};
  uint64_t size[5] = {};
  uint64_t stride[4] = {}; ///< Of dimensions 1 to 4.
};
inline constexpr uint32_t kSimtTensorMapBytes = 128; ///< Of a parameter that holds one.
static_assert(sizeof(SimtTensorMap) <= kSimtTensorMapBytes);

/// One wgmma.mma_async without its accumulators. An operand in shared memory is a matrix descriptor.
struct SimtWgmma {
  uint32_t type = 0;    ///< SimtMma.
  uint32_t columns = 0; ///< N, a multiple of 8 up to 256.
  uint32_t accumulate = 1;
  uint32_t a_in_registers = 0;
  uint32_t a_transposed = 0, b_transposed = 0; ///< The operand is not K-major.
  uint32_t a[4] = {};
  uint64_t a_descriptor = 0, b_descriptor = 0;
};

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
  /// Adds 1 to an i32, relaxed; what that was before.
  uint32_t (*fetch_increment)(SimtLane *, uint32_t site, uint32_t predicate, uint64_t address);
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
  void (*barrier_arrive)(SimtLane *, uint32_t site, uint32_t id, uint32_t threads);
  /// The same where they only decide who comes first: they order no memory.
  void (*take_turn)(SimtLane *, uint32_t site, uint32_t id, uint32_t threads);
  void (*pass_turn)(SimtLane *, uint32_t site, uint32_t id, uint32_t threads);
  void (*barrier_warp)(SimtLane *, uint32_t site);
  void (*fence_proxy)(SimtLane *, uint32_t site, uint32_t kind); ///< SimtFence.
  /// Of all lanes of a cluster; what happened before an arrival comes before what follows a wait.
  void (*cluster_arrive)(SimtLane *, uint32_t site);
  void (*cluster_wait)(SimtLane *, uint32_t site);

  //===-- mbarriers: 8 bytes of shared memory --------------------------------------------------------------------===//
  void (*mbarrier_init)(SimtLane *, uint32_t site, uint32_t predicate, uint32_t address, uint32_t count);
  /// `arrivals` may be 0; `transactions` are bytes that the phase waits for in addition.
  void (*mbarrier_arrive)(SimtLane *, uint32_t site, uint32_t predicate, uint32_t address, uint32_t arrivals,
                          uint32_t transactions);
  /// Whether the phase of this parity is over; waits for it if `blocking`.
  uint32_t (*mbarrier_wait)(SimtLane *, uint32_t site, uint32_t address, uint32_t parity, uint32_t blocking);

  //===-- Bulk copies --------------------------------------------------------------------------------------------===//
  /// `map` and `coordinates` (one for each dimension) are the lane's own memory. `mbarrier` is for loads.
  void (*copy_tensor)(SimtLane *, uint32_t site, uint32_t predicate, uint32_t kind, uint32_t shared, const void *map,
                      const void *coordinates, uint32_t mbarrier);
  void (*copy_bulk)(SimtLane *, uint32_t site, uint32_t predicate, uint32_t kind, uint32_t shared, uint64_t global,
                    uint32_t bytes, uint32_t mbarrier);
  void (*commit_bulk)(SimtLane *, uint32_t site);
  /// `sources`: waits until shared memory has been read only.
  void (*wait_bulk)(SimtLane *, uint32_t site, uint32_t pending, uint32_t sources);

  //===-- Warpgroups ---------------------------------------------------------------------------------------------===//
  /// Starts a product (SimtWgmma). `accumulators`: columns / 2 registers, replaced by names of what is in flight, which
  /// only further products and wgmma_wait understand.
  void (*wgmma)(SimtLane *, uint32_t site, const void *product, void *accumulators);
  void (*wgmma_fence)(SimtLane *, uint32_t site);
  void (*wgmma_commit)(SimtLane *, uint32_t site);
  /// Replaces the names in `accumulators` by values.
  void (*wgmma_wait)(SimtLane *, uint32_t site, uint32_t pending, uint32_t count, void *accumulators);
  /// An instruction at `site` reads a register that a product may still be writing.
  void (*read_accumulator)(SimtLane *, uint32_t site, uint32_t value);
  /// Of a warp; waits for registers that others give back.
  void (*set_registers)(SimtLane *, uint32_t site, uint32_t count);

  //===-- Between lanes, and arithmetic --------------------------------------------------------------------------===//
  uint32_t (*shuffle)(SimtLane *, uint32_t site, uint32_t kind, uint32_t value, uint32_t operand);
  /// Of whether `predicate` is not 0 in the lanes of the warp.
  uint32_t (*vote)(SimtLane *, uint32_t site, uint32_t kind, uint32_t predicate);
  uint32_t (*elect)(SimtLane *, uint32_t site); ///< 1 in one lane of the warp.
  /// a, b, c and d: the registers of the fragments; c and d are four f32, tf32 and pairs of 16 bits are words.
  void (*mma)(SimtLane *, uint32_t site, uint32_t kind, const void *a, const void *b, const void *c, void *d);
  float (*exp2)(float);       ///< Subnormal operands and results are 0.
  float (*log2)(float);       ///< Subnormal operands are 0.
  float (*tanh)(float);       ///< Relative error below 2^-10.9.
  uint32_t (*to_tf32)(float); ///< To nearest, ties away from zero.
  uint32_t (*to_bf16)(float); ///< To nearest, ties to even; in the low half.
};

/// simt artifacts export `kernel` with this type, and a string `kernel.sites` with one line `INSTRUCTION PLACE` for
/// each site, in order. `words` are those of a cuda artifact.
using SimtKernel = void (*)(const SimtOps *ops, SimtLane *lane, const int64_t *words);

} // namespace tegula
