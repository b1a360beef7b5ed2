// SPDX-License-Identifier: MIT
#include "kernel_config.h"

#include "block_lists.h"
#include "plan_check.h"
#include "schedules.h"
#include "strips.h"
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
         (problem.block_mask.exists() ? " block_mask=" + std::string(toString(problem.block_mask.source)) : "") +
         (problem.deterministic ? " deterministic=true" : "") +
         (problem.diagonal_offset ? " diagonal_offset=true" : "") +
         (problem.page_size != 0 ? " page_size=" + std::to_string(problem.page_size) : "") +
         (problem.dropout_p != 0 ? " dropout_p=" + std::to_string(problem.dropout_p) : "") +
         (problem.sinks ? " sinks=true" : "") +
         (problem.scores_output != ScoresOutput::none ? " scores_output=" + std::string(toString(problem.scores_output))
                                                      : "");
}

/// Returns true if a program itself contains NaN and infinities. On a GPU this would take registers and shared memory
/// from the forward pass. Another program therefore repairs its results, unless the variant modifies probabilities. The
/// programs of the backward pass agree, because the first one computes from lse what the second one reads.
bool contains(const AttentionProblem &problem, std::string_view program, const Target &target) {
  const bool isContained = program.starts_with("flash2_backward") || problem.variant.probability;
  return target.name == "cpu" || (problem.contain_nonfinite && isContained);
}

/// Returns the program whose tiles a program's are, if they are not its own.
std::string_view visitorOf(std::string_view program) {
  if (program == "tile_states_of_queries" || program == "strips_of_queries")
    return visitorOf(Pass::forward);
  return program == "tile_states_of_keys" || program == "strips_of_keys" ? visitorOf(Pass::backward) : program;
}

/// Returns the fields that count for a program. Programs that make lists have no tiles of scores. Those around the
/// main program of the backward pass have no loop in which warps could have roles.
Schedule fieldsFor(std::string_view program, const Schedule &given) {
  const Expected<AttentionProgram> entry = findAttentionProgram(program);
  const GridRows grid = entry ? entry->grid : GridRows::none;
  if (grid == GridRows::block_rows || grid == GridRows::strips || grid == GridRows::tiles ||
      grid == GridRows::sequences)
    return {};
  if (program == "flash2_backward_preprocess" || program == "flash2_backward_postprocess" || grid == GridRows::heads)
    return {.block_m = given.block_m, .block_n = given.block_n, .num_warps = given.num_warps};
  return given;
}

/// Chooses the schedule of a program. A program that looks at the tiles of another one has its blocks.
Schedule scheduleOf(const Target &target, std::string_view program, const AttentionProblem &problem,
                    const Schedule &given, const TunedConfigurations *tuned) {
  const std::string_view visitor = visitorOf(program);
  const Schedule visitors = chooseSchedule(target, visitor, problem, fieldsFor(visitor, given), tuned);
  if (visitor == program)
    return visitors;
  return chooseSchedule(target, program, problem, {.block_m = visitors.block_m, .block_n = visitors.block_n}, nullptr);
}

} // namespace

/// Returns the programs that compute o and lse.
static std::vector<std::string_view> outputKernels(const AttentionProblem &problem) {
  if (problem.algorithm == Algorithm::standard)
    return {"standard_scores", "standard_softmax", "standard_output"};
  if (problem.algorithm == Algorithm::flash1)
    return {"flash1_forward"};
  std::vector<std::string_view> kernels;
  if (hasStrips(problem, visitorOf(Pass::forward)))
    kernels.emplace_back("strips_of_queries");
  kernels.emplace_back("flash2_forward");
  if (problem.contain_nonfinite && !problem.variant.probability)
    kernels.emplace_back("flash2_forward_contain");
  return kernels;
}

std::vector<std::string_view> forwardKernels(const AttentionProblem &problem) {
  std::vector<std::string_view> kernels = outputKernels(problem);
  if (problem.scores_output != ScoresOutput::none)
    kernels.push_back("attention_scores");
  return kernels;
}

std::vector<std::string_view> backwardKernels(const AttentionProblem &problem) {
  std::vector<std::string_view> kernels;
  if (problem.variant.probability)
    kernels.push_back("flash2_backward_delta");
  kernels.emplace_back("flash2_backward_preprocess");
  if (hasStrips(problem, visitorOf(Pass::backward)))
    kernels.emplace_back("strips_of_keys");
  kernels.insert(kernels.end(), {"flash2_backward", "flash2_backward_postprocess"});
  if (problem.sinks)
    kernels.push_back("flash2_backward_sink");
  return kernels;
}

std::string_view visitorOf(Pass pass) { return pass == Pass::forward ? "flash2_forward" : "flash2_backward"; }

BlockMask blockMaskOf(const AttentionProblem &problem) {
  const bool countsVisits = problem.backward && problem.deterministic && !problem.variant.any_of.empty();
  if (countsVisits && !problem.block_mask.exists())
    return {.source = BlockMask::Source::computed};
  return problem.block_mask;
}

std::vector<std::string_view> listKernels(const AttentionProblem &problem, Pass pass) {
  const BlockMask mask = blockMaskOf(problem);
  if (!mask.exists())
    return {};
  std::vector<std::string_view> kernels;
  if (mask.source == BlockMask::Source::given)
    kernels.push_back("block_states");
  kernels.push_back(pass == Pass::forward ? "tile_states_of_queries" : "tile_states_of_keys");
  kernels.push_back("visit_lists");
  if (pass == Pass::forward)
    kernels.push_back("visit_order");
  else if (problem.deterministic)
    kernels.push_back("visit_ranks");
  return kernels;
}

std::vector<std::string_view> programsOf(const AttentionProblem &problem) {
  std::vector<std::string_view> programs;
  const auto add = [&](const std::vector<std::string_view> &more) {
    programs.insert(programs.end(), more.begin(), more.end());
  };
  add(listKernels(problem, Pass::forward));
  add(forwardKernels(problem));
  if (problem.backward) {
    add(listKernels(problem, Pass::backward));
    add(backwardKernels(problem));
  }
  return programs;
}

Status withProblem(const Status &status, const AttentionProblem &problem) {
  return {status.code(), status.message() + "\n" + describe(problem)};
}

Expected<KernelConfig> resolve(const AttentionProblem &problem, std::string_view program, const Target &target,
                               const Schedule &given, const TunedConfigurations *tuned) noexcept {
  return guarded([&]() -> Expected<KernelConfig> {
    TEGULA_RETURN_IF_ERROR(checkProblem(problem, given));
    TEGULA_RETURN_IF_ERROR(checkRoom(target, program, problem));
    Schedule schedule = scheduleOf(target, program, problem, given, tuned);
    AttentionConfig config{.dtype = problem.dtype,
                           .head_dim = columnsOf(problem.head_dim),
                           .value_dim = columnsOf(problem.value_dim),
                           .causal = problem.causal,
                           .variant = problem.variant,
                           .block_mask = blockMaskOf(problem),
                           .block_m = schedule.block_m,
                           .block_n = schedule.block_n,
                           .heads_in_l2 = std::max(schedule.heads_in_l2, 1),
                           .tile_scheduler = schedule.tile_scheduler.value_or(TileScheduler::single_tile),
                           .lse_gradient = problem.lse_gradient,
                           .contain_nonfinite = contains(problem, program, target),
                           .deterministic = problem.deterministic,
                           .sinks = problem.sinks,
                           .scores_output = problem.scores_output,
                           .diagonal_offset = problem.diagonal_offset,
                           .page_size = problem.page_size,
                           .strips = hasStrips(problem, program),
                           .kept_of_256 = keptOf256(problem.dropout_p)};
    if (config.block_mask.exists()) {
      const Expected<ListAxes> axes = listAxes(config);
      if (!axes)
        return withProblem(axes.status(), problem);
      config.list_axes = *axes;
    }
    return KernelConfig{std::move(config), schedule};
  });
}

Expected<RecordedKernel> recordKernel(const AttentionProblem &problem, std::string_view program, const Target &target,
                                      const Schedule &given, const TunedConfigurations *tuned) noexcept {
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
