// SPDX-License-Identifier: MIT
#include "programs.h"

#include <utility>

namespace tegula::tuning {
namespace {

Expected<CompiledProgram> compile(const TuningTask &task, std::string_view program, const Target &target,
                                  const Schedule &schedule, Compiler &compiler) {
  Expected<AttentionProgram> entry = findAttentionProgram(program);
  if (!entry)
    return entry.status();
  Expected<KernelConfig> resolved = resolve(task.problemOfShape(), program, target, schedule);
  if (!resolved)
    return resolved.status();
  Expected<Program> recorded = entry->record(resolved->config);
  if (!recorded)
    return recorded.status();
  CompileRequest request{
      .program = std::move(recorded->text), .schedule = resolved->schedule, .target = target, .emit = ""};
  Expected<Artifact> artifact = compiler.compile(request);
  if (!artifact)
    return artifact.status();
  return CompiledProgram{std::move(request), std::move(*artifact)};
}

} // namespace

Expected<CompiledProgram> compileCandidate(const TuningTask &task, const Target &target, const Schedule &schedule,
                                           Compiler &compiler) {
  return compile(task, task.program, target, schedule, compiler);
}

Expected<std::vector<CompiledProgram>> compileOthers(const TuningTask &task, const Target &target, Compiler &compiler) {
  std::vector<CompiledProgram> others;
  for (std::string_view program : programsOf(task.problem)) {
    if (program == task.program)
      continue;
    Expected<CompiledProgram> compiled = compile(task, program, target, {}, compiler);
    if (!compiled)
      return compiled.status();
    others.push_back(std::move(*compiled));
  }
  return others;
}

} // namespace tegula::tuning
