// SPDX-License-Identifier: MIT
#include "tegula/attention.h"

#include "attention_spec.h"
#include "call_arguments.h"
#include "kernel_config.h"
#include "list_plan.h"
#include "plan_check.h"
#include "tegula/guard.h"
#include "tegula/internal/argument_places.h"
#include "tegula/tuned_schedules.h"
#include "variant_tensors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory_resource>
#include <type_traits>

namespace tegula {
namespace {

/// The most arguments of a pass, unless a variant has many tensors.
constexpr size_t kUsualArguments = 32;

/// Calls use(name, tensor, is_gradient) for the lists, which are the library's own: no message names them.
template <class Use> void forEachList(const ListTensors &lists, Use use) {
  use("visit_tiles", lists.tiles, false);
  use("visit_counts", lists.counts, false);
  use("visit_ranks", lists.ranks, false);
  use("block_states", lists.block_states, false);
}

/// Calls visit(name, argument, is_gradient) for all arguments that the kernels of a pass may have. A gradient's
/// parameter is named `d` + name.
template <class Call, class Visit>
void forEachArgument(const AttentionProblem &problem, const Call &call, Visit visit) {
  const auto visitAll = [&](std::span<const CallArgument> arguments) {
    for (const CallArgument &argument : arguments)
      if (const TensorRef *tensor = argument.in(call))
        visit(argument.name, *tensor, false);
  };
  visitAll(usualArguments());
  visit("scale", scoreFactor(call.scale, problem.head_dim), false);
  for (size_t t = 0; t < problem.variant.tensors.size(); ++t)
    visit(problem.variant.tensors[t].name, call.variant_tensors[t], false);
  visitAll(optionalArguments());
  if constexpr (std::is_same_v<Call, AttentionBackward>) {
    size_t next = 0;
    for (const VariantTensor &tensor : problem.variant.tensors)
      if (tensor.wants_gradient)
        visit(tensor.name, call.variant_gradients[next++], true);
  }
}

/// Returns the names in the order of forEachArgument.
std::vector<std::string> argumentNames(const AttentionProblem &problem, Pass pass) {
  std::vector<TensorRef> tensors(problem.variant.tensors.size());
  std::vector<std::string> names;
  auto visit = [&](std::string_view name, const Argument &, bool gradient) {
    names.push_back((gradient ? "d" : "") + std::string(name));
  };
  if (pass == Pass::forward)
    forEachArgument(problem, AttentionForward{.variant_tensors = tensors}, visit);
  else
    forEachArgument(problem, AttentionBackward{.variant_tensors = tensors, .variant_gradients = tensors}, visit);
  forEachList({}, visit);
  return names;
}

/// The kernels of a pass.
struct PassPlan {
  Plan plan;
  std::vector<size_t> places;         ///< For each argument of the plan, its index in the order of forEachArgument.
  bool isInOrder;                     ///< The places are 0, 1, 2, ...
  bool hasPages = false;              ///< The keys lie in pages.
  std::optional<ListPlan> lists = {}; ///< Exists if the problem has a block mask.
};

Expected<PassPlan> makePass(const AttentionProblem &problem, Pass pass, KernelCache &cache, const Schedule &given,
                            const TunedConfigurations *tuned) {
  Expected<PlanSpec> spec = attentionSpec(problem, pass, cache.target(), given, tuned);
  if (!spec)
    return spec.status();
  Expected<Plan> plan = Plan::make(*spec, cache);
  if (!plan)
    return withProblem(plan.status(), problem);
  Expected<std::vector<size_t>> places = argumentPlaces(spec->name(), plan->arguments(), argumentNames(problem, pass));
  if (!places)
    return withProblem(places.status(), problem);
  bool isInOrder = true;
  for (size_t i = 0; i < places->size(); ++i)
    isInOrder &= (*places)[i] == i;
  PassPlan made{std::move(*plan), std::move(*places), isInOrder, problem.page_size != 0};
  if (blockMaskOf(problem).exists()) {
    Expected<ListPlan> lists = ListPlan::make(problem, pass, cache, given, tuned);
    if (!lists)
      return lists.status();
    made.lists = std::move(*lists);
  }
  return made;
}

Expected<int64_t> ownWorkspace(const PassPlan &pass, const AttentionShape &shape) {
  Sizes sizes = attentionSizes(shape);
  if (pass.hasPages) // Then the table of pages gives the number of keys.
    std::erase_if(sizes, [](const NamedSize &size) { return size.name == "seqlen_k"; });
  return pass.plan.workspaceBytes(sizes);
}

/// Returns the bytes of the lists of a pass.
Expected<int64_t> listBytes(const PassPlan &pass, const AttentionShape &shape) {
  return pass.lists ? pass.lists->listBytes(shape) : Expected<int64_t>(0);
}

/// Returns the bytes of workspace that a launch needs which makes its lists. The programs that make lists run before
/// the others, and use the same memory.
Expected<int64_t> workspaceBytes(const PassPlan &pass, const AttentionShape &shape) {
  const Expected<int64_t> own = ownWorkspace(pass, shape);
  if (!own || !pass.lists)
    return own;
  const Expected<int64_t> lists = pass.lists->listBytes(shape), making = pass.lists->workspaceBytes(shape);
  if (!lists || !making)
    return (lists ? making : lists).status();
  return *lists + std::max(*own, *making);
}

Status checkMemory(const char *name, const Workspace &memory, int64_t needed) {
  if (memory.bytes < needed)
    return invalidArgument(name, "it has " + std::to_string(memory.bytes) + " bytes; this shape needs " +
                                     std::to_string(needed));
  if (reinterpret_cast<uintptr_t>(memory.data) % 64 != 0)
    return invalidArgument(name, "its address is not a multiple of 64");
  return {};
}

/// Returns what follows the first `bytes` of a workspace.
Workspace after(const Workspace &workspace, int64_t bytes) {
  return {static_cast<std::byte *>(workspace.data) + bytes, workspace.bytes - bytes};
}

/// The lists of a launch, and the workspace that is left for it.
struct LaunchLists {
  ListTensors tensors = {};
  Workspace workspace = {};
};

/// Finds the lists of a launch in `given`, where those of the pass begin at `offset`. If nothing is given, makes them
/// in the workspace.
template <class Call>
Expected<LaunchLists> listsOf(const PassPlan &pass, const AttentionShape &shape, const Call &call, int64_t offset,
                              const Workspace &workspace, Stream stream) {
  if (!pass.lists)
    return LaunchLists{{}, workspace};
  const Expected<int64_t> bytes = pass.lists->listBytes(shape);
  if (!bytes)
    return bytes.status();
  if (call.lists.data != nullptr) {
    TEGULA_RETURN_IF_ERROR(checkMemory("lists", call.lists, offset + *bytes));
    return LaunchLists{pass.lists->tensors(shape, after(call.lists, offset).data), workspace};
  }
  const Expected<int64_t> needed = workspaceBytes(pass, shape);
  if (!needed)
    return needed.status();
  TEGULA_RETURN_IF_ERROR(checkMemory("workspace", workspace, *needed));
  const LaunchLists lists{pass.lists->tensors(shape, workspace.data), after(workspace, *bytes)};
  TEGULA_RETURN_IF_ERROR(pass.lists->launch({shape, call.variant_tensors, call.block_mask, call.diagonal_offset},
                                            lists.tensors, lists.workspace, stream));
  return lists;
}

using TensorList = std::pmr::vector<TensorRef>;

/// Returns the variant's tensors of a checked call as kernels read them.
TensorList broadcastTensors(const Variant &variant, std::span<const TensorRef> given, const AttentionShape &shape,
                            std::pmr::memory_resource *memory) {
  TensorList tensors(memory);
  tensors.reserve(given.size());
  for (size_t t = 0; t < given.size(); ++t)
    tensors.push_back(broadcastTo(variant.tensors[t], given[t], shape));
  return tensors;
}

/// `before` is the number of bytes of other lists that lie before those of the pass.
template <class Call>
Status launch(const PassPlan &pass, const AttentionProblem &problem, Call call, const Workspace &workspace,
              Stream stream, const PassPlan *before = nullptr) {
  const Expected<AttentionShape> shape = checkCall(problem, call);
  if (!shape)
    return shape.status();
  std::array<std::byte, 16 << 10> memory; // More than variants usually need.
  std::pmr::monotonic_buffer_resource stack(memory.data(), memory.size());
  const TensorList tensors = broadcastTensors(problem.variant, call.variant_tensors, *shape, &stack);
  call.variant_tensors = tensors;
  call.diagonal_offset = broadcastTo(diagonalOffset(), call.diagonal_offset, *shape);
  const Expected<int64_t> offset = before != nullptr ? listBytes(*before, *shape) : Expected<int64_t>(0);
  if (!offset)
    return offset.status();
  const Expected<LaunchLists> lists = listsOf(pass, *shape, call, *offset, workspace, stream);
  if (!lists)
    return lists.status();
  std::pmr::vector<Argument> all(&stack), arguments(&stack);
  all.reserve(kUsualArguments);
  const auto add = [&](std::string_view, const auto &argument, bool) { all.emplace_back(argument); };
  forEachArgument(problem, call, add);
  forEachList(lists->tensors, add);
  if (pass.isInOrder)
    return pass.plan.launch(std::span(all).first(pass.places.size()), lists->workspace, stream);
  arguments.reserve(pass.places.size());
  for (size_t place : pass.places)
    arguments.push_back(all[place]);
  return pass.plan.launch(arguments, lists->workspace, stream);
}

} // namespace

struct AttentionPlan::State {
  AttentionProblem problem;
  PassPlan forward;
  std::optional<PassPlan> backward;

  std::vector<const PassPlan *> passes() const {
    if (backward)
      return {&forward, &*backward};
    return {&forward};
  }
};

Expected<AttentionPlan> AttentionPlan::make(const AttentionProblem &problem, KernelCache &cache,
                                            const Schedule &schedule, const TunedConfigurations *tuned) noexcept {
  return guarded([&]() -> Expected<AttentionPlan> {
    TEGULA_RETURN_IF_ERROR(checkProblem(problem, schedule));
    Expected<PassPlan> forward = makePass(problem, Pass::forward, cache, schedule, tuned);
    if (!forward)
      return forward.status();
    auto state = std::make_shared<State>(State{problem, std::move(*forward), {}});
    if (problem.backward) {
      Expected<PassPlan> backward = makePass(problem, Pass::backward, cache, schedule, tuned);
      if (!backward)
        return backward.status();
      state->backward = std::move(*backward);
    }
    AttentionPlan plan;
    plan.state_ = std::move(state);
    return plan;
  });
}

Expected<int64_t> AttentionPlan::forwardWorkspace(const AttentionShape &shape) const noexcept {
  return guarded([&]() -> Expected<int64_t> {
    TEGULA_RETURN_IF_ERROR(checkShape(shape));
    return workspaceBytes(state_->forward, shape);
  });
}

Expected<int64_t> AttentionPlan::backwardWorkspace(const AttentionShape &shape) const noexcept {
  return guarded([&]() -> Expected<int64_t> {
    TEGULA_RETURN_IF_ERROR(checkShape(shape));
    return state_->backward ? workspaceBytes(*state_->backward, shape) : int64_t(0);
  });
}

Status AttentionPlan::forward(const AttentionForward &call, const Workspace &workspace, Stream stream) const noexcept {
  return guarded([&] { return launch(state_->forward, state_->problem, call, workspace, stream); });
}

Status AttentionPlan::backward(const AttentionBackward &call, const Workspace &workspace,
                               Stream stream) const noexcept {
  return guarded([&]() -> Status {
    if (!state_->backward)
      return invalidArgument("backward", "it is not set in the plan's problem; make the plan with 'backward' set");
    return launch(*state_->backward, state_->problem, call, workspace, stream, &state_->forward);
  });
}

Expected<int64_t> AttentionPlan::listBytes(const AttentionShape &shape) const noexcept {
  return guarded([&]() -> Expected<int64_t> {
    TEGULA_RETURN_IF_ERROR(checkShape(shape));
    const Expected<int64_t> forward = tegula::listBytes(state_->forward, shape);
    if (!forward || !state_->backward)
      return forward;
    const Expected<int64_t> backward = tegula::listBytes(*state_->backward, shape);
    return backward ? *forward + *backward : backward;
  });
}

Expected<int64_t> AttentionPlan::listWorkspace(const AttentionShape &shape) const noexcept {
  return guarded([&]() -> Expected<int64_t> {
    TEGULA_RETURN_IF_ERROR(checkShape(shape));
    int64_t most = 0;
    for (const PassPlan *pass : state_->passes())
      if (pass->lists) {
        const Expected<int64_t> bytes = pass->lists->workspaceBytes(shape);
        if (!bytes)
          return bytes;
        most = std::max(most, *bytes);
      }
    return most;
  });
}

Status AttentionPlan::makeLists(const AttentionLists &call, const Workspace &lists, const Workspace &workspace,
                                Stream stream) const noexcept {
  return guarded([&]() -> Status {
    if (!blockMaskOf(state_->problem).exists())
      return invalidArgument("block_mask", "the plan's problem has none, so that there are no lists to make");
    const Expected<int64_t> bytes = listBytes(call.shape);
    if (!bytes)
      return bytes.status();
    TEGULA_RETURN_IF_ERROR(checkMemory("lists", lists, *bytes));
    TEGULA_RETURN_IF_ERROR(checkCall(state_->problem, call));
    const TensorList variant_tensors =
        broadcastTensors(state_->problem.variant, call.variant_tensors, call.shape, std::pmr::get_default_resource());
    AttentionLists repeated = call;
    repeated.variant_tensors = variant_tensors;
    repeated.diagonal_offset = broadcastTo(diagonalOffset(), call.diagonal_offset, call.shape);
    int64_t offset = 0;
    for (const PassPlan *pass : state_->passes()) {
      const ListTensors tensors = pass->lists->tensors(call.shape, after(lists, offset).data);
      TEGULA_RETURN_IF_ERROR(pass->lists->launch(repeated, tensors, workspace, stream));
      offset += *tegula::listBytes(*pass, call.shape);
    }
    return {};
  });
}

float scoreFactor(float scale, int head_dim) noexcept {
  return scale != 0 ? scale : float(1 / std::sqrt(double(head_dim)));
}

const AttentionProblem &AttentionPlan::problem() const noexcept { return state_->problem; }

Schedule AttentionPlan::schedule(std::string_view program) const noexcept {
  const Schedule forward = state_->forward.plan.configuration(program).schedule;
  if (forward != Schedule() || !state_->backward)
    return forward;
  return state_->backward->plan.configuration(program).schedule;
}

} // namespace tegula
