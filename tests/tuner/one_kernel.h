// SPDX-License-Identifier: MIT
#pragma once

#include "compiler/client/InProcessCompiler.h"
#include "tegula/tuner.h"

namespace tegula {

/// A compiler that compiles a task's program once, and gives the same code for all schedules. Its blocks are the
/// largest of all candidates, so that any grid has enough of them.
class OneKernel : public Compiler {
public:
  explicit OneKernel(const TuningTask &task) {
    const Schedule largest{.block_m = 192, .block_n = 64};
    const Target cpu{"cpu", "", ""};
    Expected<RecordedKernel> kernel = recordKernel(task.problemOfShape(), task.program, cpu, largest);
    artifact_ = *makeInProcessCompiler()->compile(
        {.program = kernel->program.text, .schedule = kernel->schedule, .target = cpu});
  }

  Expected<Artifact> compile(const CompileRequest &request) override {
    Artifact artifact = artifact_;
    artifact.schedule = toString(request.schedule); // The stand-in knows the candidate by it.
    return artifact;
  }

private:
  Artifact artifact_;
};

} // namespace tegula
