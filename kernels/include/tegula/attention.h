// SPDX-License-Identifier: MIT
// Attention for hosts: say what is computed, make a plan once, launch it for any shape.
//
//   KernelCache cache(compiler, device);
//   auto plan = AttentionPlan::make({.dtype = bf16, .head_dim = 128, .value_dim = 128, .causal = Causal::top_left},
//   cache); plan->forward({.q = q, .k = k, .v = v, .o = o, .lse = lse, .scale = 0.088f}, workspace);
//
// Everything here is thread-safe and answers with a Status; the functions never throw, abort or print.
#pragma once

#include "tegula/attention_programs.h"
#include "tegula/kernel_cache.h"

#include <memory>
#include <span>

namespace tegula {

/// The sizes of one launch.
struct AttentionShape {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0; ///< Divides heads.
  int64_t seqlen_q = 0;
  int64_t seqlen_k = 0;
};

/// What is computed. Shapes, strides and the scale are left to the launch.
struct AttentionProblem {
  DType dtype = bf16; ///< Of q, k, v, o and their gradients: f32, f16 or bf16.
  Algorithm algorithm = Algorithm::flash2;
  int head_dim = 0;  ///< Of q and k: a multiple of 8 up to 256.
  int value_dim = 0; ///< Of v and o: a multiple of 8 up to 256.
  Causal causal = Causal::none;
  Variant variant = {};
  bool backward = false; ///< Compile the backward pass too; only flash2 has one.
  /// The backward pass takes AttentionBackward::d_lse: for losses that depend on lse, such as a z-loss or partial
  /// results that are merged. The forward pass is the same.
  bool lse_gradient = false;
  /// A NaN or an infinity in a row of q, k, v or d_o makes no result NaN that does not see the row. With flash2 that
  /// always holds on the cpu, where it changes no bit; on a GPU it costs time, and without it only what lies beyond the
  /// ends of tensors is safe. docs/kernels.md says what exactly holds.
  bool contain_nonfinite = false;
  /// The shape that schedules are looked up for, tuned ones and the table's; launches of any other are as correct.
  AttentionShape expected = {.batch = 4, .heads = 16, .kv_heads = 16, .seqlen_q = 4096, .seqlen_k = 4096};
};

class TunedSchedules;

/// Memory on the device that a launch may use and leaves undefined: 64-byte aligned, and not used by another launch
/// at the same time.
struct Workspace {
  void *data = nullptr;
  int64_t bytes = 0;
};

/// Returns the factor on the scores that a call's `scale` stands for: 1 / sqrt(head_dim) if it is 0.
float scoreFactor(float scale, int head_dim) noexcept;

/// Tensors as in attention_programs.h, with any strides.
struct AttentionForward {
  TensorRef q = {}, k = {}, v = {};
  TensorRef o = {}, lse = {};              ///< Written.
  float scale = 0;                         ///< Factor on the scores; 0: 1 / sqrt(head_dim).
  std::span<const TensorRef> variant = {}; ///< One per Variant::tensors.
};

/// The gradients of sum(o * d_o) + sum(lse * d_lse), where o and lse are what forward wrote, and rows that see no key
/// count for nothing, whatever their d_lse is.
struct AttentionBackward {
  TensorRef q = {}, k = {}, v = {}, o = {}, lse = {}, d_o = {};
  TensorRef d_lse = {};                ///< f32, shaped like lse; with AttentionProblem::lse_gradient, and only then.
  TensorRef dq = {}, dk = {}, dv = {}; ///< Written; shaped like q, k and v.
  float scale = 0;                     ///< As in the forward call.
  std::span<const TensorRef> variant = {};           ///< One per Variant::tensors.
  std::span<const TensorRef> variant_gradients = {}; ///< f32, added to; one per tensor that wants a gradient.
};

/// The compiled kernels of one problem. Immutable; copies share the kernels. One that make() has not made, or that was
/// moved from, may be assigned to and destroyed, no more.
class AttentionPlan {
public:
  /// Records and compiles, unless `cache` has the kernels already. What is 0 in `schedule` is chosen for each kernel:
  /// by `tuned`, if that is given and knows the problem and all of `schedule` is 0, else by a table. invalid_argument
  /// names the field of `problem` or `schedule`, its value and what is legal. The error unsupported names the nearest
  /// problem that is supported; otherwise errors of KernelCache::get, which name the kernel and the problem. Returns
  /// internal if a kernel has a parameter that no launch has an argument for.
  static Expected<AttentionPlan> make(const AttentionProblem &problem, KernelCache &cache,
                                      const Schedule &schedule = {}, const TunedSchedules *tuned = nullptr) noexcept;

  /// Bytes of workspace that a launch needs; often 0. Returns resource_exhausted if 63 bits cannot hold the number.
  Expected<int64_t> forwardWorkspace(const AttentionShape &shape) const noexcept;
  Expected<int64_t> backwardWorkspace(const AttentionShape &shape) const noexcept;

  /// Launches. Nothing has run if the arguments are refused: invalid_argument names the tensor, what it was and what is
  /// legal. A row without any key gives o = 0 and lse = -inf, and gradients of exactly 0.
  Status forward(const AttentionForward &call, const Workspace &workspace = {}, Stream stream = {}) const noexcept;
  Status backward(const AttentionBackward &call, const Workspace &workspace = {}, Stream stream = {}) const noexcept;

  const AttentionProblem &problem() const noexcept;
  /// Of one of its programs, with all block sizes filled in; all 0 if the plan has no such program.
  Schedule schedule(std::string_view program) const noexcept;

private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// What one of a plan's kernels is recorded with, and how it is compiled.
struct AttentionRecipe {
  AttentionConfig config;
  Schedule schedule; ///< Has the block sizes of `config`.
};

/// What make() records and compiles for a program on a target: no size is 0 in `config`.
/// invalid_argument as from make().
Expected<AttentionRecipe> resolve(const AttentionProblem &problem, std::string_view program, const Target &target,
                                  const Schedule &given = {}, const TunedSchedules *tuned = nullptr) noexcept;

/// A kernel of a plan before it is compiled.
struct RecordedKernel {
  Program program;
  Schedule schedule;
};

/// Resolves and records. Errors of recording name the program and the problem.
Expected<RecordedKernel> recordKernel(const AttentionProblem &problem, std::string_view program, const Target &target,
                                      const Schedule &given = {}, const TunedSchedules *tuned = nullptr) noexcept;

/// The programs of a plan in the order in which they run: those of the forward pass, then of the backward pass.
std::vector<std::string_view> programsOf(const AttentionProblem &problem);

} // namespace tegula
