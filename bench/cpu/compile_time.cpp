// SPDX-License-Identifier: MIT
#include "problem.h"
#include "workload/timing.h"

#include <initializer_list>

namespace tegula::bench {
namespace {

using Record = Expected<Program> (*)(const AttentionConfig &);

/// Milliseconds to compile one program of attention, once it is recorded.
Expected<double> compileMs(const Machine &machine, const AttentionConfig &config, Record record) {
  Expected<Program> program = record(config);
  if (!program)
    return program.status();
  CompileRequest request;
  request.program = program->text;
  request.schedule.block_m = config.block_m;
  request.schedule.block_n = config.block_n;
  request.target = machine.device->target();
  return tools::medianMs([&] { return machine.compiler->compile(request).status(); });
}

Expected<double> sumOfCompileMs(const Machine &machine, const AttentionConfig &config,
                                std::initializer_list<Record> programs) {
  double sum = 0;
  for (Record record : programs) {
    Expected<double> ms = compileMs(machine, config, record);
    if (!ms)
      return ms;
    sum += *ms;
  }
  return sum;
}

} // namespace

Expected<CompileTime> compileTime(const Machine &machine, int head_dim) {
  Expected<AttentionConfig> config = resolve(problem(0, head_dim).problem, {});
  if (!config)
    return config.status();
  Expected<double> forward = sumOfCompileMs(machine, *config, {recordFlash2Forward});
  if (!forward)
    return forward.status();
  Expected<double> backward = sumOfCompileMs(
      machine, *config, {recordFlash2BackwardPreprocess, recordFlash2Backward, recordFlash2BackwardPostprocess});
  if (!backward)
    return backward.status();
  return CompileTime{head_dim, *forward, *backward};
}

} // namespace tegula::bench
