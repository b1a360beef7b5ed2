// SPDX-License-Identifier: MIT
// Attention for hosts: describe what is computed, make a plan once, launch it for any shape.
//
//   KernelCache cache(compiler, device);
//   auto plan = AttentionPlan::make(
//       {.dtype = bf16, .head_dim = 128, .value_dim = 128, .causal = Causal::top_left}, cache);
//   plan->forward({.q = q, .k = k, .v = v, .o = o, .lse = lse, .scale = 0.088f}, workspace);
//
// Everything here is thread-safe and returns a Status. The functions never throw, abort or print.
#pragma once

#include "tegula/attention_programs.h"
#include "tegula/kernel_cache.h"
#include "tegula/plan.h"

#include <memory>
#include <span>

namespace tegula {

/// The sizes of one launch.
struct AttentionShape {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0; ///< Divides heads.
  int64_t seqlen_q = 0; ///< At most 2^30 - 1024, because sums of positions in a kernel have 32 bits.
  int64_t seqlen_k = 0; ///< The same.

  bool operator==(const AttentionShape &) const = default;
};

/// The computation of a plan. Shapes, strides and the scale belong to the launch.
struct AttentionProblem {
  DType dtype = bf16; ///< Type of q, k, v, o and their gradients: f32, f16 or bf16.
  Algorithm algorithm = Algorithm::flash2;
  int head_dim = 0;  ///< Head dimension of q and k, from 1 to 576.
  int value_dim = 0; ///< Head dimension of v and o, from 1 to 576.
  Causal causal = Causal::none;
  Variant variant = {};
  BlockMask block_mask = {}; ///< Which tiles kernels need not visit. A plan makes its lists at each launch, or once.
  bool backward = false;     ///< Compile the backward pass too; only flash2 has one.
  /// The backward pass takes AttentionBackward::d_lse. Losses that depend on lse need it, such as a z-loss or merged
  /// partial results. The forward pass is the same.
  bool lse_gradient = false;
  /// A NaN or an infinity in a row of q, k, v or d_o makes no result NaN that does not see the row. With flash2, the
  /// cpu always guarantees this and changes no bit for it. On a GPU it costs time; without it, only data beyond the
  /// ends of tensors is harmless. docs/kernels.md has the exact guarantees.
  bool contain_nonfinite = false;
  /// Two launches of the backward pass on the same device with the same arguments write the same bits. Program
  /// instances then add to dQ one after another, which costs time. The forward pass is always so. Variants must not
  /// want the gradient of a tensor of which several scores read one element; make() refuses them.
  bool deterministic = false;
  /// The probability with which dropout drops a probability P_ij: from 0 on, below 1. The kept ones are divided by the
  /// probability of keeping. This is rounded to a multiple of 1/256, from 1/256 to 255/256. Needs flash2. The same
  /// elements are dropped in both passes, on all targets and with all schedules: P_ij of (batch, head) is kept if
  /// randomBytes() is below 256 times the probability of keeping, for 7 rounds, row i, column j, and the stream
  /// batch * heads + head (docs/language.md).
  double dropout_p = 0;
  /// Each query head has an attention sink, a logit in the denominator of the softmax (AttentionForward::sinks). Needs
  /// flash2.
  bool sinks = false;
  /// The forward pass also writes AttentionForward::scores, for debugging and for losses that look at them. This takes
  /// the memory that attention avoids, and another look at all keys.
  ScoresOutput scores_output = ScoresOutput::none;
  /// Each call gives a number that is added to the diagonal (AttentionForward::diagonal_offset): that of the causal
  /// mask and of all parts of the variant. Keys and values of a past then need no plan of their own.
  bool diagonal_offset = false;
  /// 0, or the rows of a page. k is then [pages, kv_heads, page_size, head_dim] and v [pages, kv_heads, page_size,
  /// value_dim], with any strides. All entries of the batch share one row of keys: key j is row j % page_size of page
  /// AttentionForward::page_table[j / page_size], so that seqlen_k is the number of entries times page_size. A variant
  /// such as packedQueries() says which of the keys a query sees; packed.h has it for sequences. Forward only. Needs
  /// flash2, and has neither a block mask, products nor a scores_output.
  int page_size = 0;
  /// The shape for which schedules are looked up, tuned ones and those of the table. Launches of other shapes are as
  /// correct.
  AttentionShape expected = {.batch = 4, .heads = 16, .kv_heads = 16, .seqlen_q = 4096, .seqlen_k = 4096};
};

/// Returns the factor on the scores that a call's `scale` stands for: 1 / sqrt(head_dim) if it is 0.
float scoreFactor(float scale, int head_dim) noexcept;

/// The lists of a BlockMask whose source is `given`: for each row of blocks, which blocks of keys it has. They have the
/// names and meanings of FlexAttention's BlockMask in PyTorch, and any strides. batch and heads are 1 unless the block
/// mask is per_batch or per_head. rows are ceil(seqlen_q / block_q). Entries beyond the count of a row, and those that
/// name no block, are ignored. The lists of queries of each block of keys are not needed: kernels transpose these.
struct BlockMaskTensors {
  TensorRef kv_num_blocks = {}, kv_indices = {}; ///< i32 [batch, heads, rows] and [batch, heads, rows, any]: partial.
  TensorRef full_kv_num_blocks = {}, full_kv_indices = {}; ///< The same: full. Rank 0 if there are none.
};

/// The arguments of a forward launch. Tensors are as in attention_programs.h, with any strides.
struct AttentionForward {
  TensorRef q = {}, k = {}, v = {};
  TensorRef o = {}, lse = {};                      ///< Written.
  float scale = 0;                                 ///< Factor on the scores, finite; 0 means 1 / sqrt(head_dim).
  std::span<const TensorRef> variant_tensors = {}; ///< One for each of Variant::tensors.
  BlockMaskTensors block_mask = {}; ///< Given exactly if AttentionProblem::block_mask is `given`, and no `lists` are.
  Workspace lists = {}; ///< Written by makeLists() for this shape; empty if the launch is to make its own lists.
  /// i64 [2], on the device: seed and offset of the random numbers. Given exactly if AttentionProblem::dropout_p is not
  /// 0. A call that replays a captured launch draws other numbers if they have changed.
  TensorRef dropout_state = {};
  /// f32 [heads]: the logit t of each head's sink. Given exactly if AttentionProblem::sinks is set. Then
  ///
  ///   o = sum_j exp(s_j) v_j / (exp(t) + sum_j exp(s_j))     lse = log(exp(t) + sum_j exp(s_j))
  ///
  /// for scores s_j after scale and variant, so that P = exp(s - lse) still. A row that sees no key gives o = 0 and
  /// lse = t. A sink of -inf is none: results have the bits of a problem without sinks. If it is +inf or NaN, o and lse
  /// of the head are NaN.
  TensorRef sinks = {};
  /// i32 [batch], or [1] for all batch entries, on the device: added to the diagonal. Given exactly if
  /// AttentionProblem::diagonal_offset. Positions on the diagonal lie from -kMaxDiagonal to kMaxDiagonal; an offset
  /// that leads beyond counts as the nearest one that does not.
  TensorRef diagonal_offset = {};
  /// f32 [batch, heads, seqlen_q, seqlen_k], written. Given exactly if AttentionProblem::scores_output is not `none`.
  TensorRef scores = {};
  /// i32 [entries] each, on the device, given exactly if AttentionProblem::page_size is not 0: the page of each
  /// page_size keys, and how many of these exist, as the first rows of the page. A page that k or v does not have, such
  /// as -1, has no rows. What does not exist is not read: it is 0, for a query that sees it.
  TensorRef page_table = {}, page_lengths = {};
};

/// The arguments of a backward launch, which computes the gradients of sum(o * d_o) + sum(lse * d_lse). forward wrote o
/// and lse. Rows that see no key count for nothing, whatever their d_lse is.
struct AttentionBackward {
  TensorRef q = {}, k = {}, v = {}, o = {}, lse = {}, d_o = {};
  TensorRef d_lse = {};                ///< f32, shaped like lse; given exactly if AttentionProblem::lse_gradient.
  TensorRef dq = {}, dk = {}, dv = {}; ///< Written; shaped like q, k and v.
  float scale = 0;                     ///< As in the forward call.
  std::span<const TensorRef> variant_tensors = {};   ///< One for each of Variant::tensors.
  std::span<const TensorRef> variant_gradients = {}; ///< f32, added to; one for each tensor that wants a gradient.
  BlockMaskTensors block_mask = {};                  ///< As in the forward call.
  Workspace lists = {};                              ///< As in the forward call.
  TensorRef dropout_state = {};                      ///< As in the forward call, with the same numbers.
  TensorRef sinks = {};                              ///< As in the forward call.
  /// f32 [heads], written, given exactly if there are sinks: the sum of exp(sink - lse) (d_lse - rowsum(d_o o)) over
  /// the rows of all batch entries, in a fixed order. Rows that see no key count, too. A sink of -inf has the gradient
  /// 0.
  TensorRef d_sinks = {};
  TensorRef diagonal_offset = {}; ///< As in the forward call, with the same numbers.
};

/// The arguments of makeLists().
struct AttentionLists {
  AttentionShape shape = {};
  std::span<const TensorRef> variant_tensors = {}; ///< One for each of Variant::tensors.
  BlockMaskTensors block_mask = {};                ///< As in the forward call.
  TensorRef diagonal_offset = {};                  ///< As in the forward call.
};

/// The compiled kernels of one problem. Immutable; copies share the kernels. A plan that make() has not made, or that
/// was moved from, may only be assigned to and destroyed.
class AttentionPlan {
public:
  /// Records and compiles the kernels, unless `cache` has them already. Fields of `schedule` that are 0 are chosen for
  /// each kernel. If all of `schedule` is 0 and `tuned` knows the problem, `tuned` chooses them, otherwise a table.
  /// Returns invalid_argument with the field of `problem` or `schedule`, its value and what is legal. Returns
  /// unsupported with the nearest problem that is supported. Otherwise returns errors of KernelCache::get, which name
  /// the kernel and the problem. Returns internal if a kernel has a parameter for which no launch has an argument.
  static Expected<AttentionPlan> make(const AttentionProblem &problem, KernelCache &cache,
                                      const Schedule &schedule = {},
                                      const TunedConfigurations *tuned = nullptr) noexcept;

  /// Returns the bytes of workspace that a launch needs; often 0. Returns resource_exhausted if 63 bits cannot hold the
  /// number.
  Expected<int64_t> forwardWorkspace(const AttentionShape &shape) const noexcept;
  Expected<int64_t> backwardWorkspace(const AttentionShape &shape) const noexcept;

  /// Launches the forward pass. If the arguments are refused, nothing has run: invalid_argument names the tensor, what
  /// it was and what is legal. A row that sees no key gives o = 0 and lse = -inf.
  Status forward(const AttentionForward &call, const Workspace &workspace = {}, Stream stream = {}) const noexcept;
  /// Launches the backward pass in the same way. The gradients of a row that sees no key are exactly 0.
  Status backward(const AttentionBackward &call, const Workspace &workspace = {}, Stream stream = {}) const noexcept;

  /// Returns the bytes of memory in which makeLists() writes; 0 if the problem has no block mask.
  Expected<int64_t> listBytes(const AttentionShape &shape) const noexcept;
  /// Returns the bytes of workspace that makeLists() needs.
  Expected<int64_t> listWorkspace(const AttentionShape &shape) const noexcept;
  /// Makes the lists of tiles that the passes visit, for launches of this shape and of the same contents of
  /// variant_tensors. `lists` has at least listBytes(). It must not change while such a launch runs: then the launch
  /// may hang. Returns invalid_argument without a block mask, and as forward() does.
  Status makeLists(const AttentionLists &call, const Workspace &lists, const Workspace &workspace = {},
                   Stream stream = {}) const noexcept;

  const AttentionProblem &problem() const noexcept;
  /// Returns the schedule of one of the plan's programs, with all block sizes filled in. All fields are 0 if the plan
  /// has no such program.
  Schedule schedule(std::string_view program) const noexcept;

private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The configuration and the schedule with which a plan records and compiles one of its kernels.
struct KernelConfig {
  AttentionConfig config;
  Schedule schedule; ///< Has the block sizes of `config`.
};

/// Returns the recipe from which make() compiles a program on a target. No size in `config` is 0. Returns
/// invalid_argument as make() does.
Expected<KernelConfig> resolve(const AttentionProblem &problem, std::string_view program, const Target &target,
                               const Schedule &given = {}, const TunedConfigurations *tuned = nullptr) noexcept;

/// A kernel of a plan before it is compiled.
struct RecordedKernel {
  Program program;
  Schedule schedule;
};

/// Resolves and records a program. Errors of recording name the program and the problem.
Expected<RecordedKernel> recordKernel(const AttentionProblem &problem, std::string_view program, const Target &target,
                                      const Schedule &given = {}, const TunedConfigurations *tuned = nullptr) noexcept;

/// Returns the programs of a plan in the order in which they run: those of the forward pass, then of the backward pass.
std::vector<std::string_view> programsOf(const AttentionProblem &problem);

} // namespace tegula
