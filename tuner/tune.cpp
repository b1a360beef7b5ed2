// SPDX-License-Identifier: MIT
#include "tegula/tuner.h"

#include "attention_subject.h"
#include "run_search.h"
#include "tegula/guard.h"
#include "workload/named_variants.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tegula {

using namespace tuning;

namespace {

bool hasProgram(const AttentionProblem &problem, std::string_view program) {
  return std::ranges::count(programsOf(problem), program) != 0;
}

Status checkTask(const TuningTask &task) {
  const AttentionShape &shape = task.shape;
  if (!hasProgram(task.problem, task.program))
    return {ErrorCode::invalid_argument, fmt::format("the problem has no program '{}'", task.program)};
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

Expected<Tuning> tune(const TuningTask &task, const TuningDevice &machine, Compiler &compiler,
                      const TuningOptions &options) {
  TEGULA_RETURN_IF_ERROR(checkTask(task));
  return guarded([&]() -> Expected<Tuning> {
    Expected<TuningTask> named = measurable(task);
    if (!named)
      return named.status();
    Expected<SearchResult> result = runSearch(AttentionSubject(*named, machine), machine, compiler, options);
    if (!result)
      return result.status();
    return Tuning{std::move(*result), std::move(*named)};
  });
}

} // namespace tegula
