// SPDX-License-Identifier: MIT
#include "tegula/attention.h"

#include "argument_places.h"
#include "kernel_config.h"
#include "launch_grid.h"
#include "plan_check.h"
#include "plan_workspace.h"
#include "tegula/attention_words.h"
#include "tegula/guard.h"
#include "tegula/profile_range.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory_resource>

namespace tegula {
namespace {

/// The most arguments of a pass, unless a variant has many tensors.
constexpr size_t kUsualArguments = 32;

bool isDynamic(GridRows grid, const Schedule &schedule) {
  return grid == GridRows::scheduled && schedule.tile_scheduler == TileScheduler::dynamic_persistent;
}

/// One kernel of a pass.
struct Step {
  std::string_view program;
  Schedule schedule;
  std::shared_ptr<Kernel> kernel;
  GridRows grid;
  std::vector<size_t> places; ///< For each parameter of the kernel, its index in the order of forEachArgument.

  bool counts() const { return isDynamic(grid, schedule); }
};

AttentionForward forwardPart(const AttentionBackward &call) {
  return {call.q, call.k, call.v, call.o, call.lse, call.scale, call.variant};
}

/// Calls visit(name, argument, is_gradient) for all arguments that the kernels of a pass may have. A gradient's
/// parameter is named `d` + name.
template <class Visit>
void forEachArgument(const AttentionProblem &problem, const AttentionForward &call, const WorkspaceLayout &workspace,
                     Visit visit) {
  visit("q", call.q, false);
  visit("k", call.k, false);
  visit("v", call.v, false);
  visit("o", call.o, false);
  visit("lse", call.lse, false);
  visit("scale", scoreFactor(call.scale, problem.head_dim), false);
  for (size_t t = 0; t < problem.variant.tensors.size(); ++t)
    visit(problem.variant.tensors[t].name, call.variant[t], false);
  for (const WorkspaceTensor &entry : workspace.tensors)
    visit(entry.name, entry.tensor, false);
}

template <class Visit>
void forEachArgument(const AttentionProblem &problem, const AttentionBackward &call, const WorkspaceLayout &workspace,
                     Visit visit) {
  forEachArgument(problem, forwardPart(call), workspace, visit);
  visit("do", call.d_o, false);
  visit("dlse", call.d_lse, false);
  visit("dq", call.dq, false);
  visit("dk", call.dk, false);
  visit("dv", call.dv, false);
  size_t next = 0;
  for (const VariantTensor &tensor : problem.variant.tensors)
    if (tensor.wants_gradient)
      visit(tensor.name, call.variant_gradients[next++], true);
}

/// Returns the names in the order of forEachArgument. `counts` is true for kernels that take blocks from a counter.
std::vector<std::string> argumentNames(const AttentionProblem &problem, Pass pass, bool counts) {
  Expected<WorkspaceLayout> workspace =
      workspaceLayout(problem.algorithm, pass, {}, problem.head_dim, problem.value_dim, counts);
  std::vector<TensorRef> tensors(problem.variant.tensors.size());
  std::vector<std::string> names;
  auto visit = [&](std::string_view name, const Argument &, bool gradient) {
    names.push_back((gradient ? "d" : "") + std::string(name));
  };
  if (pass == Pass::forward)
    forEachArgument(problem, AttentionForward{.variant = tensors}, *workspace, visit);
  else
    forEachArgument(problem, AttentionBackward{.variant = tensors, .variant_gradients = tensors}, *workspace, visit);
  return names;
}

/// The arguments of AttentionPlan::make besides the problem.
struct Choices {
  KernelCache &cache;
  const Schedule &given;
  const TunedSchedules *tuned;
};

Expected<Step> makeStep(std::string_view name, const AttentionProblem &problem, const Choices &choices, Pass pass) {
  Expected<RecordedKernel> recorded = recordKernel(problem, name, choices.cache.target(), choices.given, choices.tuned);
  if (!recorded)
    return recorded.status();
  const Schedule &schedule = recorded->schedule;
  Expected<std::shared_ptr<Kernel>> kernel = choices.cache.get(recorded->program.text, schedule);
  if (!kernel)
    return withProblem(kernel.status(), problem);
  const GridRows grid = findAttentionProgram(name)->grid;
  Expected<std::vector<size_t>> places =
      argumentPlaces(name, (*kernel)->parameters(), argumentNames(problem, pass, isDynamic(grid, schedule)));
  if (!places)
    return withProblem(places.status(), problem);
  return Step{name, schedule, *kernel, grid, std::move(*places)};
}

} // namespace

struct AttentionPlan::State {
  AttentionProblem problem;
  std::vector<Step> forward, backward;

  Status add(std::vector<Step> &steps, Pass pass, const Choices &choices);
  const std::vector<Step> &steps(Pass pass) const { return pass == Pass::forward ? forward : backward; }
  Expected<WorkspaceLayout> layout(Pass pass, const AttentionShape &shape) const;
  Expected<int64_t> workspaceBytes(Pass pass, const AttentionShape &shape) const noexcept;
  template <class Call> Status launch(Pass pass, const Call &call, const Workspace &workspace, Stream stream) const;
};

Expected<WorkspaceLayout> AttentionPlan::State::layout(Pass pass, const AttentionShape &shape) const {
  bool counts = std::any_of(steps(pass).begin(), steps(pass).end(), [](const Step &step) { return step.counts(); });
  return workspaceLayout(problem.algorithm, pass, shape, problem.head_dim, problem.value_dim, counts);
}

Expected<int64_t> AttentionPlan::State::workspaceBytes(Pass pass, const AttentionShape &shape) const noexcept {
  return guarded([&]() -> Expected<int64_t> {
    TEGULA_RETURN_IF_ERROR(checkShape(shape));
    Expected<WorkspaceLayout> workspace = layout(pass, shape);
    if (!workspace)
      return workspace.status();
    return workspace->bytes;
  });
}

Status AttentionPlan::State::add(std::vector<Step> &steps, Pass pass, const Choices &choices) {
  for (std::string_view name : pass == Pass::forward ? forwardKernels(problem) : backwardKernels()) {
    if (name == "flash2_forward_contain" && choices.cache.target().name == "cpu") // The cpu has nothing to repair.
      continue;
    Expected<Step> step = makeStep(name, problem, choices, pass);
    if (!step)
      return step.status();
    steps.push_back(std::move(*step));
  }
  return {};
}

template <class Call>
Status AttentionPlan::State::launch(Pass pass, const Call &call, const Workspace &workspace, Stream stream) const {
  Expected<AttentionShape> shape = checkCall(problem, call);
  if (!shape)
    return shape.status();
  Expected<WorkspaceLayout> tensors = layout(pass, *shape);
  if (!tensors)
    return tensors.status();
  TEGULA_RETURN_IF_ERROR(tensors->place(workspace));
  std::array<std::byte, 16 << 10> memory; // More than variants usually need.
  std::pmr::monotonic_buffer_resource stack(memory.data(), memory.size());
  std::pmr::vector<Argument> all(&stack), arguments(&stack);
  all.reserve(kUsualArguments);
  arguments.reserve(kUsualArguments);
  forEachArgument(problem, call, *tensors,
                  [&](std::string_view, const Argument &argument, bool) { all.push_back(argument); });
  const auto argumentsOf = [&](const Step &step) -> std::span<const Argument> {
    arguments.clear();
    for (size_t place : step.places)
      arguments.push_back(all[place]);
    return arguments;
  };
  const auto gridOf = [&](const Step &step) {
    return launchGrid(step.grid, *shape, step.schedule, step.kernel->concurrency());
  };
  if (steps(pass).size() > 1)
    for (const Step &step : steps(pass))
      TEGULA_RETURN_IF_ERROR(step.kernel->check(gridOf(step), argumentsOf(step)));
  for (const Step &step : steps(pass))
    TEGULA_RETURN_IF_ERROR(step.kernel->launch(gridOf(step), argumentsOf(step), stream));
  return {};
}

Expected<AttentionPlan> AttentionPlan::make(const AttentionProblem &problem, KernelCache &cache,
                                            const Schedule &schedule, const TunedSchedules *tuned) noexcept {
  return guarded([&]() -> Expected<AttentionPlan> {
    TEGULA_RETURN_IF_ERROR(checkProblem(problem, schedule));
    const ProfileRange range("plan", toString(problem.algorithm));
    auto state = std::make_shared<State>(State{problem, {}, {}});
    Choices choices{cache, schedule, tuned};
    TEGULA_RETURN_IF_ERROR(state->add(state->forward, Pass::forward, choices));
    if (problem.backward)
      TEGULA_RETURN_IF_ERROR(state->add(state->backward, Pass::backward, choices));
    AttentionPlan plan;
    plan.state_ = std::move(state);
    return plan;
  });
}

Expected<int64_t> AttentionPlan::forwardWorkspace(const AttentionShape &shape) const noexcept {
  return state_->workspaceBytes(Pass::forward, shape);
}

Expected<int64_t> AttentionPlan::backwardWorkspace(const AttentionShape &shape) const noexcept {
  return state_->workspaceBytes(Pass::backward, shape);
}

Status AttentionPlan::forward(const AttentionForward &call, const Workspace &workspace, Stream stream) const noexcept {
  return guarded([&] { return state_->launch(Pass::forward, call, workspace, stream); });
}

Status AttentionPlan::backward(const AttentionBackward &call, const Workspace &workspace,
                               Stream stream) const noexcept {
  return guarded([&]() -> Status {
    if (!state_->problem.backward)
      return invalidArgument("backward", "it is false in the plan's problem; make the plan with .backward = true");
    return state_->launch(Pass::backward, call, workspace, stream);
  });
}

float scoreFactor(float scale, int head_dim) noexcept {
  return scale != 0 ? scale : float(1 / std::sqrt(double(head_dim)));
}

const AttentionProblem &AttentionPlan::problem() const noexcept { return state_->problem; }

Schedule AttentionPlan::schedule(std::string_view program) const noexcept {
  for (const std::vector<Step> *steps : {&state_->forward, &state_->backward})
    for (const Step &step : *steps)
      if (step.program == program)
        return step.schedule;
  return {};
}

} // namespace tegula
