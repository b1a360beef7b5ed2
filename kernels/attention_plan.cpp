// SPDX-License-Identifier: MIT
#include "tegula/attention.h"

#include "attention_spec.h"
#include "kernel_config.h"
#include "plan_check.h"
#include "tegula/guard.h"
#include "tegula/internal/argument_places.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <memory_resource>

namespace tegula {
namespace {

/// The most arguments of a pass, unless a variant has many tensors.
constexpr size_t kUsualArguments = 32;

AttentionForward forwardPart(const AttentionBackward &call) {
  return {call.q, call.k, call.v, call.o, call.lse, call.scale, call.variant_tensors};
}

/// Calls visit(name, argument, is_gradient) for all arguments that the kernels of a pass may have. A gradient's
/// parameter is named `d` + name.
template <class Visit>
void forEachArgument(const AttentionProblem &problem, const AttentionForward &call, Visit visit) {
  visit("q", call.q, false);
  visit("k", call.k, false);
  visit("v", call.v, false);
  visit("o", call.o, false);
  visit("lse", call.lse, false);
  visit("scale", scoreFactor(call.scale, problem.head_dim), false);
  for (size_t t = 0; t < problem.variant.tensors.size(); ++t)
    visit(problem.variant.tensors[t].name, call.variant_tensors[t], false);
}

template <class Visit>
void forEachArgument(const AttentionProblem &problem, const AttentionBackward &call, Visit visit) {
  forEachArgument(problem, forwardPart(call), visit);
  visit("d_o", call.d_o, false);
  visit("d_lse", call.d_lse, false);
  visit("dq", call.dq, false);
  visit("dk", call.dk, false);
  visit("dv", call.dv, false);
  size_t next = 0;
  for (const VariantTensor &tensor : problem.variant.tensors)
    if (tensor.wants_gradient)
      visit(tensor.name, call.variant_gradients[next++], true);
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
  return names;
}

/// The kernels of a pass.
struct PassPlan {
  Plan plan;
  std::vector<size_t> places; ///< For each argument of the plan, its index in the order of forEachArgument.
  bool isInOrder;             ///< The places are 0, 1, 2, ...
};

Expected<PassPlan> makePass(const AttentionProblem &problem, Pass pass, KernelCache &cache, const Schedule &given,
                            const TunedSchedules *tuned) {
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
  return PassPlan{std::move(*plan), std::move(*places), isInOrder};
}

Expected<int64_t> workspaceBytes(const PassPlan &pass, const AttentionShape &shape) {
  return pass.plan.workspaceBytes({{"batch", shape.batch},
                                   {"heads", shape.heads},
                                   {"kv_heads", shape.kv_heads},
                                   {"seqlen_q", shape.seqlen_q},
                                   {"seqlen_k", shape.seqlen_k}});
}

template <class Call>
Status launch(const PassPlan &pass, const AttentionProblem &problem, const Call &call, const Workspace &workspace,
              Stream stream) {
  TEGULA_RETURN_IF_ERROR(checkCall(problem, call).status());
  std::array<std::byte, 16 << 10> memory; // More than variants usually need.
  std::pmr::monotonic_buffer_resource stack(memory.data(), memory.size());
  std::pmr::vector<Argument> all(&stack), arguments(&stack);
  all.reserve(kUsualArguments);
  forEachArgument(problem, call, [&](std::string_view, const auto &argument, bool) { all.emplace_back(argument); });
  if (pass.isInOrder)
    return pass.plan.launch(std::span(all).first(pass.places.size()), workspace, stream);
  arguments.reserve(pass.places.size());
  for (size_t place : pass.places)
    arguments.push_back(all[place]);
  return pass.plan.launch(arguments, workspace, stream);
}

} // namespace

struct AttentionPlan::State {
  AttentionProblem problem;
  PassPlan forward;
  std::optional<PassPlan> backward;
};

Expected<AttentionPlan> AttentionPlan::make(const AttentionProblem &problem, KernelCache &cache,
                                            const Schedule &schedule, const TunedSchedules *tuned) noexcept {
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
    return launch(*state_->backward, state_->problem, call, workspace, stream);
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
