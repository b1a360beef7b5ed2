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
};

/// The computation of a plan. Shapes, strides and the scale belong to the launch.
struct AttentionProblem {
  DType dtype = bf16; ///< Type of q, k, v, o and their gradients: f32, f16 or bf16.
  Algorithm algorithm = Algorithm::flash2;
  int head_dim = 0;  ///< Head dimension of q and k: a multiple of 8 up to 256.
  int value_dim = 0; ///< Head dimension of v and o: a multiple of 8 up to 256.
  Causal causal = Causal::none;
  Variant variant = {};
  bool backward = false; ///< Compile the backward pass too; only flash2 has one.
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
  /// The shape for which schedules are looked up, tuned ones and those of the table. Launches of other shapes are as
  /// correct.
  AttentionShape expected = {.batch = 4, .heads = 16, .kv_heads = 16, .seqlen_q = 4096, .seqlen_k = 4096};
};

class TunedSchedules;

/// Returns the factor on the scores that a call's `scale` stands for: 1 / sqrt(head_dim) if it is 0.
float scoreFactor(float scale, int head_dim) noexcept;

/// The arguments of a forward launch. Tensors are as in attention_programs.h, with any strides.
struct AttentionForward {
  TensorRef q = {}, k = {}, v = {};
  TensorRef o = {}, lse = {};              ///< Written.
  float scale = 0;                         ///< Factor on the scores, finite; 0 means 1 / sqrt(head_dim).
  std::span<const TensorRef> variant_tensors = {}; ///< One for each of Variant::tensors.
};

/// The arguments of a backward launch, which computes the gradients of sum(o * d_o) + sum(lse * d_lse). forward wrote o
/// and lse. Rows that see no key count for nothing, whatever their d_lse is.
struct AttentionBackward {
  TensorRef q = {}, k = {}, v = {}, o = {}, lse = {}, d_o = {};
  TensorRef d_lse = {};                    ///< f32, shaped like lse; given exactly if AttentionProblem::lse_gradient.
  TensorRef dq = {}, dk = {}, dv = {};     ///< Written; shaped like q, k and v.
  float scale = 0;                         ///< As in the forward call.
  std::span<const TensorRef> variant_tensors = {};   ///< One for each of Variant::tensors.
  std::span<const TensorRef> variant_gradients = {}; ///< f32, added to; one for each tensor that wants a gradient.
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
                                      const Schedule &schedule = {}, const TunedSchedules *tuned = nullptr) noexcept;

  /// Returns the bytes of workspace that a launch needs; often 0. Returns resource_exhausted if 63 bits cannot hold the
  /// number.
  Expected<int64_t> forwardWorkspace(const AttentionShape &shape) const noexcept;
  Expected<int64_t> backwardWorkspace(const AttentionShape &shape) const noexcept;

  /// Launches the forward pass. If the arguments are refused, nothing has run: invalid_argument names the tensor, what
  /// it was and what is legal. A row that sees no key gives o = 0 and lse = -inf.
  Status forward(const AttentionForward &call, const Workspace &workspace = {}, Stream stream = {}) const noexcept;
  /// Launches the backward pass in the same way. The gradients of a row that sees no key are exactly 0.
  Status backward(const AttentionBackward &call, const Workspace &workspace = {}, Stream stream = {}) const noexcept;

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
                               const Schedule &given = {}, const TunedSchedules *tuned = nullptr) noexcept;

/// A kernel of a plan before it is compiled.
struct RecordedKernel {
  Program program;
  Schedule schedule;
};

/// Resolves and records a program. Errors of recording name the program and the problem.
Expected<RecordedKernel> recordKernel(const AttentionProblem &problem, std::string_view program, const Target &target,
                                      const Schedule &given = {}, const TunedSchedules *tuned = nullptr) noexcept;

/// Returns the programs of a plan in the order in which they run: those of the forward pass, then of the backward pass.
std::vector<std::string_view> programsOf(const AttentionProblem &problem);

} // namespace tegula
