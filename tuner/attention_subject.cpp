// SPDX-License-Identifier: MIT
#include "attention_subject.h"

#include "model.h"
#include "tegula/internal/zero_program.h"

#include <algorithm>
#include <utility>

namespace tegula::tuning {

/// Returns true if the plan lists tiles, whose states are set to 0 first.
static bool listsTiles(const AttentionProblem &problem) {
  return std::ranges::count(programsOf(problem), "visit_lists") != 0;
}

Expected<std::vector<Candidate>> AttentionSubject::candidates(int most) const {
  return candidatesOf(task_, machine_, most);
}

Expected<Candidate> AttentionSubject::candidateOf(const Configuration &given) const {
  Expected<KernelConfig> config = resolved(task_.program, given.schedule, nullptr);
  if (!config)
    return config.status();
  return Candidate{.schedule = config->schedule};
}

Expected<KernelConfig> AttentionSubject::resolved(std::string_view program, const Schedule &given,
                                                  const TunedSchedules *tuned) const {
  return resolve(task_.problemOfShape(), program, machine_.target, given, tuned);
}

Expected<CompiledProgram> AttentionSubject::compiled(std::string_view program, const KernelConfig &config,
                                                     Compiler &compiler) const {
  Expected<AttentionProgram> entry = findAttentionProgram(program);
  if (!entry)
    return entry.status();
  Expected<Program> recorded = entry->record(config.config);
  if (!recorded)
    return recorded.status();
  return compiledProgram(std::move(*recorded), config.schedule, machine_.target, compiler);
}

Expected<std::vector<CompiledProgram>> AttentionSubject::compile(const Candidate &candidate, Compiler &compiler) const {
  TunedSchedules tuned; // The process that measures makes a plan with the same ones.
  tuned.add({task_.program, problemClass(task_.problem), shapeClass(task_.shape), candidate.schedule});
  std::vector<CompiledProgram> programs;
  const auto add = [&](std::string_view program, const Expected<KernelConfig> &config) -> Status {
    if (!config)
      return config.status();
    Expected<CompiledProgram> result = compiled(program, *config, compiler);
    if (result)
      programs.push_back(std::move(*result));
    return result.status();
  };
  TEGULA_RETURN_IF_ERROR(add(task_.program, resolved(task_.program, candidate.schedule, nullptr)));
  for (std::string_view program : programsOf(task_.problem)) {
    const Expected<KernelConfig> own = resolved(program, {}, &tuned), shared = resolved(program, {}, nullptr);
    if (program != task_.program && !(own && shared && own->schedule == shared->schedule))
      TEGULA_RETURN_IF_ERROR(add(program, own));
  }
  return programs;
}

Expected<std::vector<CompiledProgram>> AttentionSubject::compileOthers(Compiler &compiler) const {
  std::vector<CompiledProgram> others;
  for (std::string_view program : programsOf(task_.problem)) {
    if (program == task_.program)
      continue;
    const Expected<KernelConfig> config = resolved(program, {}, nullptr);
    if (!config)
      return config.status();
    Expected<CompiledProgram> other = compiled(program, *config, compiler);
    if (!other)
      return other.status();
    others.push_back(std::move(*other));
  }
  if (listsTiles(task_.problem)) {
    Expected<Program> zero = recordZeroProgram();
    if (!zero)
      return zero.status();
    Expected<CompiledProgram> other = compiledProgram(std::move(*zero), {}, machine_.target, compiler);
    if (!other)
      return other.status();
    others.push_back(std::move(*other));
  }
  return others;
}

Json AttentionSubject::opening() const { return {{"task", toJson(task_)}}; }

Json AttentionSubject::loading(const Candidate &candidate) const {
  return {{"schedule", toString(candidate.schedule)}};
}

} // namespace tegula::tuning
