// SPDX-License-Identifier: MIT
#include "problem.h"
#include "workload/timing.h"

#include <initializer_list>

namespace tegula::bench {
namespace {

using Record = Expected<Program> (*)(const AttentionConfig &);

/// Milliseconds to compile one program of attention, once it is recorded.
Expected<double> compileMs(const Machine &machine, const AttentionRecipe &recipe, Record record) {
  Expected<Program> program = record(recipe.config);
  if (!program)
    return program.status();
  CompileRequest request;
  request.program = program->text;
  request.schedule = recipe.schedule;
  request.target = machine.device->target();
  return tools::medianMs([&] { return machine.compiler->compile(request).status(); });
}

Expected<double> sumOfCompileMs(const Machine &machine, const AttentionRecipe &recipe,
                                std::initializer_list<Record> programs) {
  double sum = 0;
  for (Record record : programs) {
    Expected<double> ms = compileMs(machine, recipe, record);
    if (!ms)
      return ms;
    sum += *ms;
  }
  return sum;
}

} // namespace

Expected<CompileTime> compileTime(const Machine &machine, int head_dim) {
  Expected<AttentionRecipe> recipe = resolve(problem(0, head_dim).problem, "flash2_forward", {"cpu"});
  if (!recipe)
    return recipe.status();
  Expected<double> forward = sumOfCompileMs(machine, *recipe, {recordFlash2Forward});
  if (!forward)
    return forward.status();
  Expected<double> backward = sumOfCompileMs(
      machine, *recipe, {recordFlash2BackwardPreprocess, recordFlash2Backward, recordFlash2BackwardPostprocess});
  if (!backward)
    return backward.status();
  return CompileTime{head_dim, *forward, *backward};
}

} // namespace tegula::bench
