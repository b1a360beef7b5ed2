// SPDX-License-Identifier: MIT
#include "kernel_config.h"

#include "plan_check.h"
#include "schedules.h"
#include "tegula/attention_words.h"
#include "tegula/guard.h"

#include <algorithm>

namespace tegula {
namespace {

std::string describe(const AttentionProblem &problem) {
  const std::string variant = problem.variant.name.empty() ? "none" : problem.variant.name;
  return "attention dtype=" + std::string(toString(problem.dtype)) +
         " algorithm=" + std::string(toString(problem.algorithm)) + " head_dim=" + std::to_string(problem.head_dim) +
         " value_dim=" + std::to_string(problem.value_dim) + " causal=" + std::string(toString(problem.causal)) +
         " variant=" + variant + (problem.lse_gradient ? " lse_gradient=true" : "") +
         (problem.contain_nonfinite ? " contain_nonfinite=true" : "") +
         (problem.deterministic ? " deterministic=true" : "");
}

/// Returns true if a program itself contains NaN and infinities. On a GPU this would take registers and shared memory
/// from the forward pass. Another program therefore repairs its results.
bool contains(const AttentionProblem &problem, std::string_view program, const Target &target) {
  return target.name == "cpu" || (problem.contain_nonfinite && program == "flash2_backward");
}

} // namespace

std::vector<std::string_view> forwardKernels(const AttentionProblem &problem) {
  if (problem.algorithm == Algorithm::standard)
    return {"standard_scores", "standard_softmax", "standard_output"};
  if (problem.algorithm == Algorithm::flash1)
    return {"flash1_forward"};
  if (problem.contain_nonfinite)
    return {"flash2_forward", "flash2_forward_contain"};
  return {"flash2_forward"};
}

std::vector<std::string_view> backwardKernels() {
  return {"flash2_backward_preprocess", "flash2_backward", "flash2_backward_postprocess"};
}

std::vector<std::string_view> programsOf(const AttentionProblem &problem) {
  std::vector<std::string_view> programs = forwardKernels(problem);
  if (problem.backward)
    for (std::string_view program : backwardKernels())
      programs.push_back(program);
  return programs;
}

Status withProblem(const Status &status, const AttentionProblem &problem) {
  return {status.code(), status.message() + "\n" + describe(problem)};
}

Expected<KernelConfig> resolve(const AttentionProblem &problem, std::string_view program, const Target &target,
                               const Schedule &given, const TunedSchedules *tuned) noexcept {
  return guarded([&]() -> Expected<KernelConfig> {
    TEGULA_RETURN_IF_ERROR(checkProblem(problem, given));
    Schedule schedule = chooseSchedule(target, program, problem, given, tuned);
    AttentionConfig config{.dtype = problem.dtype,
                           .head_dim = problem.head_dim,
                           .value_dim = problem.value_dim,
                           .causal = problem.causal,
                           .variant = problem.variant,
                           .block_m = schedule.block_m,
                           .block_n = schedule.block_n,
                           .heads_in_l2 = std::max(schedule.heads_in_l2, 1),
                           .tile_scheduler = schedule.tile_scheduler.value_or(TileScheduler::single_tile),
                           .lse_gradient = problem.lse_gradient,
                           .contain_nonfinite = contains(problem, program, target),
                           .deterministic = problem.deterministic};
    return KernelConfig{std::move(config), schedule};
  });
}

Expected<RecordedKernel> recordKernel(const AttentionProblem &problem, std::string_view program, const Target &target,
                                      const Schedule &given, const TunedSchedules *tuned) noexcept {
  return guarded([&]() -> Expected<RecordedKernel> {
    const Expected<AttentionProgram> entry = findAttentionProgram(program);
    if (!entry)
      return entry.status();
    const Expected<KernelConfig> resolved = resolve(problem, program, target, given, tuned);
    if (!resolved)
      return resolved.status();
    Expected<Program> recorded = entry->record(resolved->config);
    if (!recorded)
      return withProblem(ofKernel(recorded.status(), program, target, resolved->schedule), problem);
    return RecordedKernel{std::move(*recorded), resolved->schedule};
  });
}

} // namespace tegula
