// SPDX-License-Identifier: MIT
// The functions that code for the simt target calls: one for each instruction of a GPU, in plain C.
//
// A kernel runs once for each lane of a block. It reaches memory through these functions only. Addresses of global
// memory are not the host's; addresses of shared memory are 32-bit and begin at kSimtSharedBase. `site` is the index of
// the instruction in the program; the artifact's text says where it came from. If `predicate` is 0, the function does
// nothing. All lanes of a warp call an operation that PTX calls .sync, each with its own registers.
#pragma once

#include <cstdint>

namespace tegula {

/// The lane that calls.
struct SimtLane;

inline constexpr uint32_t kSimtSharedBase = 1024;
/// An address in the shared memory of another program instance of the cluster has its rank + 1 from this bit on.
inline constexpr uint32_t kSimtRankShift = 24;

enum class SimtRegister : uint32_t {
  thread,
  program_x,
  program_y,
  program_z,
  programs_x,
  programs_y,
  programs_z,
  cluster_rank
};
/// The index of the lane whose value is read: the own index ^ operand, or the operand.
enum class SimtShuffle : uint32_t { lane_xor, index };
enum class SimtVote : uint32_t { any, all, ballot };
enum class SimtAtomic : uint32_t { f32, i32 };
/// Element type of a matrix product. mma: m16n8k16 of bf16 or f16, m16n8k8 of tf32. wgmma: m64nNk16, m64nNk8, and
/// m64nNk32 of e4m3. Accumulators are f32.
enum class SimtMma : uint32_t { bf16, f16, tf32, e4m3 };
/// The accesses that a fence makes visible to the asynchronous proxy: all, or initialisations of mbarriers.
enum class SimtFence : uint32_t { async_proxy, mbarrier_init };
/// The side of a meeting with other lanes on which a fence of tensor memory stands.
enum class SimtTensorFence : uint32_t { before, after };
/// Kind of a bulk copy: into shared memory; out of it; out of it, with an f32 addition to the elements in global
/// memory.
enum class SimtBulk : uint32_t { load, store, add_f32 };

/// The simt target's form of a CUtensorMap. Dimension 0 is the innermost, of stride
/// `element_bytes`; sizes and the box are in elements, strides in bytes.
struct SimtTensorMap {
  uint64_t address = 0; ///< An address of the kernel's global memory.
  uint32_t rank = 0, element_bytes = 0;
  uint32_t swizzle = 0; ///< In bytes: 0, 32, 64 or 128.
  uint32_t box[5] = {};
  uint64_t size[5] = {};
  uint64_t stride[4] = {}; ///< Strides of dimensions 1 to 4.
};
inline constexpr uint32_t kSimtTensorMapBytes = 128; ///< Size of a parameter that holds a tensor map.
static_assert(sizeof(SimtTensorMap) <= kSimtTensorMapBytes);

/// One wgmma.mma_async without its accumulators. An operand in shared memory is a matrix descriptor.
struct SimtWgmma {
  uint32_t type = 0;    ///< A SimtMma.
  uint32_t columns = 0; ///< N, a multiple of 8 up to 256.
  uint32_t accumulate = 1;
  uint32_t a_in_registers = 0;
  uint32_t a_transposed = 0, b_transposed = 0; ///< The operand is not K-major.
  uint32_t a[4] = {};
  uint64_t a_descriptor = 0, b_descriptor = 0;
};

struct SimtOps {
  uint32_t (*special)(SimtLane *, uint32_t which); ///< Reads a SimtRegister.

  //===-- Memory -------------------------------------------------------------------------------------------------===//
  void (*load)(SimtLane *, uint32_t site, uint32_t predicate, uint64_t address, uint32_t bytes, void *to);
  void (*store)(SimtLane *, uint32_t site, uint32_t predicate, uint64_t address, uint32_t bytes, const void *from);
  void (*load_shared)(SimtLane *, uint32_t site, uint32_t predicate, uint32_t address, uint32_t bytes, void *to);
  void (*store_shared)(SimtLane *, uint32_t site, uint32_t predicate, uint32_t address, uint32_t bytes,
                       const void *from);
  /// Adds to `count` consecutive elements of type SimtAtomic, each with a relaxed atomic addition.
  void (*atomic_add)(SimtLane *, uint32_t site, uint32_t predicate, uint64_t address, uint32_t type, uint32_t count,
                     const void *from);
  /// Adds 1 to an i32 with a relaxed atomic addition, and returns the value before.
  uint32_t (*fetch_increment)(SimtLane *, uint32_t site, uint32_t predicate, uint64_t address);
  /// Waits until an i32 is at least `number`, by loads that acquire. Only a program instance that comes earlier in the
  /// grid may make it so.
  void (*turn_wait)(SimtLane *, uint32_t site, uint64_t address, int32_t number);
  /// Returns an i32 that other program instances may raise, by a load that acquires.
  int32_t (*turn_read)(SimtLane *, uint32_t site, uint64_t address);
  /// Raises an i32 to `number`, unless it is larger, by an atomic maximum that releases.
  void (*turn_pass)(SimtLane *, uint32_t site, uint64_t address, int32_t number);
  /// Adds 1 to an i32, or makes it 0 if it is `last`, by an atomic operation that acquires and releases. Returns the
  /// value before.
  int32_t (*counter_arrive)(SimtLane *, uint32_t site, uint64_t address, int32_t last);
  void (*load_matrices)(SimtLane *, uint32_t site, uint32_t address, uint32_t count, uint32_t transposed, void *to);
  void (*store_matrices)(SimtLane *, uint32_t site, uint32_t address, uint32_t count, uint32_t transposed,
                         const void *from);

  //===-- Order --------------------------------------------------------------------------------------------------===//
  /// Starts a copy of `size` bytes, of which the first `bytes` come from global memory and the rest are 0.
  void (*copy_async)(SimtLane *, uint32_t site, uint32_t shared, uint64_t global, uint32_t size, uint32_t bytes);
  void (*commit_copies)(SimtLane *, uint32_t site);
  void (*wait_copies)(SimtLane *, uint32_t site, uint32_t pending);
  /// Waits at barrier `id`. If `threads` is 0, all threads of the block take part.
  void (*barrier)(SimtLane *, uint32_t site, uint32_t id, uint32_t threads);
  void (*barrier_arrive)(SimtLane *, uint32_t site, uint32_t id, uint32_t threads);
  /// The same for barriers that only decide which warpgroup comes first: they order no memory.
  void (*sequence_wait)(SimtLane *, uint32_t site, uint32_t id, uint32_t threads);
  void (*sequence_arrive)(SimtLane *, uint32_t site, uint32_t id, uint32_t threads);
  void (*barrier_warp)(SimtLane *, uint32_t site);
  void (*fence_proxy)(SimtLane *, uint32_t site, uint32_t kind); ///< SimtFence.
  /// The barrier of all lanes of a cluster. Accesses before an arrival happen before accesses after a wait.
  void (*cluster_arrive)(SimtLane *, uint32_t site);
  void (*cluster_wait)(SimtLane *, uint32_t site);

  //===-- mbarriers: 8 bytes of shared memory --------------------------------------------------------------------===//
  void (*mbarrier_init)(SimtLane *, uint32_t site, uint32_t predicate, uint32_t address, uint32_t count);
  /// Arrives `arrivals` times, which may be 0. The phase also waits for `transactions` more bytes.
  void (*mbarrier_arrive)(SimtLane *, uint32_t site, uint32_t predicate, uint32_t address, uint32_t arrivals,
                          uint32_t transactions);
  /// Returns 1 if the phase of this parity is over, else 0. If `blocking`, waits until it is over.
  uint32_t (*mbarrier_wait)(SimtLane *, uint32_t site, uint32_t address, uint32_t parity, uint32_t blocking);

  //===-- Bulk copies --------------------------------------------------------------------------------------------===//
  /// Starts a copy of one box. `map` and `coordinates` (one for each dimension) are the lane's own memory. A load
  /// signals `mbarrier`.
  void (*copy_tensor)(SimtLane *, uint32_t site, uint32_t predicate, uint32_t kind, uint32_t shared, const void *map,
                      const void *coordinates, uint32_t mbarrier);
  void (*copy_bulk)(SimtLane *, uint32_t site, uint32_t predicate, uint32_t kind, uint32_t shared, uint64_t global,
                    uint32_t bytes, uint32_t mbarrier);
  void (*commit_bulk)(SimtLane *, uint32_t site);
  /// Waits until at most `pending` groups are in flight. If `sources`, only until they have read shared memory.
  void (*wait_bulk)(SimtLane *, uint32_t site, uint32_t pending, uint32_t sources);

  //===-- Warpgroups ---------------------------------------------------------------------------------------------===//
  /// Starts a product (SimtWgmma). Replaces the `accumulators`, which are columns / 2 registers, by tokens that stand
  /// for the results. Only further products and wgmma_wait understand tokens.
  void (*wgmma)(SimtLane *, uint32_t site, const void *product, void *accumulators);
  void (*wgmma_fence)(SimtLane *, uint32_t site);
  void (*wgmma_commit)(SimtLane *, uint32_t site);
  /// Replaces the tokens in `accumulators` by values.
  void (*wgmma_wait)(SimtLane *, uint32_t site, uint32_t pending, uint32_t count, void *accumulators);
  /// Checks a register that the instruction at `site` reads: a product may still be writing it.
  void (*read_accumulator)(SimtLane *, uint32_t site, uint32_t value);
  /// Sets the number of registers of the warp's threads. More registers wait until other warps have released them.
  void (*set_registers)(SimtLane *, uint32_t site, uint32_t count);

  //===-- Tensor memory: lane << 16 | column is an address --------------------------------------------------------===//
  /// A warp allocates columns of all lanes. Their address is written to shared memory.
  void (*tensor_alloc)(SimtLane *, uint32_t site, uint32_t shared, uint32_t columns);
  void (*tensor_dealloc)(SimtLane *, uint32_t site, uint32_t address, uint32_t columns);
  /// Says that the program instance allocates no more.
  void (*tensor_relinquish)(SimtLane *, uint32_t site);
  /// Starts a product of 128 rows whose results go to tensor memory. `a` and `b` are matrix descriptors, `instruction`
  /// is an instruction descriptor.
  void (*tensor_mma)(SimtLane *, uint32_t site, uint32_t to, uint64_t a, uint64_t b, uint32_t instruction,
                     uint32_t accumulate);
  /// Arrives at an mbarrier when the products that the lane has started are over.
  void (*tensor_commit)(SimtLane *, uint32_t site, uint32_t mbarrier);
  /// A lane of a warp loads `count` columns of its lane of tensor memory. The registers are valid after
  /// tensor_wait_load.
  void (*tensor_load)(SimtLane *, uint32_t site, uint32_t address, uint32_t count, void *registers);
  void (*tensor_wait_load)(SimtLane *, uint32_t site, uint32_t count, void *registers);
  void (*tensor_fence)(SimtLane *, uint32_t site, uint32_t kind); ///< SimtTensorFence.

  //===-- Between lanes, and arithmetic --------------------------------------------------------------------------===//
  uint32_t (*shuffle)(SimtLane *, uint32_t site, uint32_t kind, uint32_t value, uint32_t operand);
  /// Combines, as a SimtVote, whether `predicate` is not 0 in each lane of the warp.
  uint32_t (*vote)(SimtLane *, uint32_t site, uint32_t kind, uint32_t predicate);
  uint32_t (*elect)(SimtLane *, uint32_t site); ///< Returns 1 in one lane of the warp, 0 in the others.
  /// Computes d = a * b + c of a warp. a, b, c and d are the lane's registers of the fragments. c and d are four f32; a
  /// register of a or b holds one tf32 or a pair of 16-bit elements.
  void (*mma)(SimtLane *, uint32_t site, uint32_t kind, const void *a, const void *b, const void *c, void *d);
  float (*exp2)(float);              ///< Subnormal operands and results are 0.
  float (*log2)(float);              ///< Subnormal operands are 0.
  float (*tanh)(float);              ///< Relative error below 2^-10.9.
  uint32_t (*to_tf32)(float);        ///< Rounds to nearest, ties away from zero.
  uint32_t (*to_bf16)(float);        ///< Rounds to nearest, ties to even; the result is in the low half.
  float (*reciprocal)(float);        ///< Subnormal operands and results are 0.
  uint32_t (*to_e4m3)(float);        ///< Rounds to nearest, ties to even; the result is in the low byte.
  uint32_t (*from_e4m3x2)(uint32_t); ///< Casts each of the two low bytes to f16.
};

/// simt artifacts export `kernel` with this type, and a string `kernel.sites` with one line `INSTRUCTION PLACE` for
/// each site, in order. `words` are those of a cuda artifact.
using SimtKernel = void (*)(const SimtOps *ops, SimtLane *lane, const int64_t *words);

} // namespace tegula
