// SPDX-License-Identifier: MIT
#include "attention_subject.h"

#include "model.h"
#include "tegula/internal/zero_program.h"
#include "tegula/tuned_schedules.h"
#include "workload/named_variants.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tegula::tuning {
namespace {

bool hasProgram(const AttentionProblem &problem, std::string_view program) {
  return std::ranges::count(programsOf(problem), program) != 0;
}

Status checkTask(const TuningTask &task) {
  const AttentionShape &shape = task.shape;
  if (!hasProgram(task.problem, task.program))
    return {ErrorCode::invalid_argument, fmt::format("the problem has no program '{}'", task.program)};
  if (task.problem.page_size != 0)
    return {ErrorCode::unsupported, "problems with pages cannot be tuned; set page_size to 0"};
  AttentionProblem forward = task.problem;
  forward.backward = false;
  if (task.problem.backward && hasProgram(forward, task.program))
    return {ErrorCode::invalid_argument,
            fmt::format("'{}' belongs to the forward pass, and is tuned without a backward one", task.program)};
  for (int64_t size : {shape.batch, shape.heads, shape.kv_heads, shape.seqlen_q, shape.seqlen_k})
    if (size < 1)
      return {ErrorCode::invalid_argument, "an empty shape cannot be tuned; every size must be 1 or more"};
  if (shape.heads % shape.kv_heads != 0)
    return {ErrorCode::invalid_argument,
            fmt::format("{} kv_heads do not divide the {} heads of q", shape.kv_heads, shape.heads)};
  return {};
}

/// Returns the task with the variant of its class that tegula-measure can make by its name.
Expected<TuningTask> measurable(TuningTask task) {
  const std::string wanted = problemClass(task.problem), name = task.problem.variant.name;
  task.problem.variant = {};
  if (problemClass(task.problem) == wanted)
    return task;
  for (const tools::NamedVariant &variant : tools::namedVariants()) {
    task.problem.variant = variant.make(task.problem);
    if (problemClass(task.problem) == wanted)
      return task;
  }
  return Status(ErrorCode::unsupported,
                fmt::format("the variant '{}' cannot be tuned, because there is no reference to check candidates with; "
                            "there is one for {}, with the parameters of `tegula attention --variant`",
                            name, fmt::join(tools::variantNames(), ", ")));
}

} // namespace

AttentionSubject::AttentionSubject(TuningTask task, const TuningDevice &machine)
    : Subject({.kernel = task.program,
               .kernel_class = problemClass(task.problemOfShape()),
               .sizes = attentionSizes(task.shape),
               .task = toJson(task).dump(),
               .machine = machine}),
      task_(std::move(task)) {}

Expected<AttentionSubject> AttentionSubject::make(const TuningTask &task, const TuningDevice &machine) {
  TEGULA_RETURN_IF_ERROR(checkTask(task));
  Expected<TuningTask> named = measurable(task);
  return named ? Expected<AttentionSubject>(AttentionSubject(std::move(*named), machine)) : named.status();
}

Expected<std::vector<Candidate>> AttentionSubject::candidates(int most) const {
  return candidatesOf(task_, about().machine, most);
}

Expected<Candidate> AttentionSubject::candidateOf(const Configuration &given) const {
  const Expected<KernelConfig> config = resolve(task_.problemOfShape(), task_.program, target(), given.schedule);
  return config ? Expected<Candidate>(Candidate{.schedule = config->schedule}) : config.status();
}

Status AttentionSubject::add(std::string_view program, const TunedConfigurations &tuned, Compiler &compiler,
                             std::vector<CompiledProgram> &programs) const {
  Expected<RecordedKernel> kernel = recordKernel(task_.problemOfShape(), program, target(), {}, &tuned);
  return kernel ? tuning::add(std::move(kernel->program), kernel->schedule, target(), compiler, programs)
                : kernel.status();
}

Expected<std::vector<CompiledProgram>> AttentionSubject::compile(const Candidate &candidate, Compiler &compiler) const {
  const TunedConfigurations tuned = task_.resultOf(candidate.schedule);
  const auto isShared = [&](std::string_view program) {
    const AttentionProblem problem = task_.problemOfShape();
    const Expected<KernelConfig> own = resolve(problem, program, target(), {}, &tuned),
                                 shared = resolve(problem, program, target());
    return own && shared && own->schedule == shared->schedule;
  };
  std::vector<CompiledProgram> programs;
  TEGULA_RETURN_IF_ERROR(add(task_.program, tuned, compiler, programs));
  for (std::string_view program : programsOf(task_.problem))
    if (program != task_.program && !isShared(program))
      TEGULA_RETURN_IF_ERROR(add(program, tuned, compiler, programs));
  return programs;
}

Expected<std::vector<CompiledProgram>> AttentionSubject::compileOthers(Compiler &compiler) const {
  std::vector<CompiledProgram> others;
  for (std::string_view program : programsOf(task_.problem))
    if (program != task_.program)
      TEGULA_RETURN_IF_ERROR(add(program, {}, compiler, others));
  if (hasProgram(task_.problem, "visit_lists")) // The states of the tiles that are listed are set to 0 first.
    TEGULA_RETURN_IF_ERROR(tuning::add(recordZeroProgram(), {}, target(), compiler, others));
  return others;
}

Json AttentionSubject::opening() const { return {{"task", toJson(task_)}}; }

Json AttentionSubject::loading(const Candidate &candidate) const {
  return {{"schedule", toString(candidate.schedule)}};
}

} // namespace tegula::tuning
