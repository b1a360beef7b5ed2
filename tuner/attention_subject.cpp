// SPDX-License-Identifier: MIT
#include "attention_subject.h"

#include "model.h"

#include <utility>

namespace tegula::tuning {

Expected<std::vector<Candidate>> AttentionSubject::candidates(int most) const {
  return candidatesOf(task_, machine_, most);
}

Expected<Candidate> AttentionSubject::candidateOf(const Configuration &given) const {
  Expected<KernelConfig> resolved = resolve(task_.problemOfShape(), task_.program, machine_.target, given.schedule);
  if (!resolved)
    return resolved.status();
  return Candidate{.schedule = resolved->schedule};
}

Expected<CompiledProgram> AttentionSubject::compiled(std::string_view program, const Schedule &schedule,
                                                     Compiler &compiler) const {
  Expected<AttentionProgram> entry = findAttentionProgram(program);
  if (!entry)
    return entry.status();
  Expected<KernelConfig> resolved = resolve(task_.problemOfShape(), program, machine_.target, schedule);
  if (!resolved)
    return resolved.status();
  Expected<Program> recorded = entry->record(resolved->config);
  if (!recorded)
    return recorded.status();
  return compiledProgram(std::move(*recorded), resolved->schedule, machine_.target, compiler);
}

Expected<CompiledProgram> AttentionSubject::compile(const Candidate &candidate, Compiler &compiler) const {
  return compiled(task_.program, candidate.schedule, compiler);
}

Expected<std::vector<CompiledProgram>> AttentionSubject::compileOthers(Compiler &compiler) const {
  std::vector<CompiledProgram> others;
  for (std::string_view program : programsOf(task_.problem)) {
    if (program == task_.program)
      continue;
    Expected<CompiledProgram> other = compiled(program, {}, compiler);
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
