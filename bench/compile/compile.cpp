// SPDX-License-Identifier: MIT
// tegula-bench-compile: from the C++ of an attention kernel to its artifact, in a warm process: recording and
// compiling.
#include "compiler/client/InProcessCompiler.h"
#include "tegula/attention.h"
#include "workload/timing.h"

#include <cstdio>
#include <initializer_list>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

using namespace tegula;

namespace {

struct Goal {
  Target target;
  std::string emit; ///< "": the binary.
  DType dtype;
};

/// Medians, in milliseconds; the three kernels of the backward pass together.
struct Row {
  double forward_ms = 0, backward_ms = 0;
};

Status compileOne(Compiler &compiler, const Goal &goal, const AttentionProblem &problem, const char *name) {
  Expected<KernelConfig> resolved = resolve(problem, name, goal.target);
  if (!resolved)
    return resolved.status();
  Expected<Program> program = findAttentionProgram(name)->record(resolved->config);
  if (!program)
    return program.status();
  return compiler.compile({program->text, resolved->schedule, goal.target, goal.emit}).status();
}

Expected<double> compileMs(Compiler &compiler, const Goal &goal, const AttentionProblem &problem,
                           std::initializer_list<const char *> names) {
  return tools::medianMs(
      [&]() -> Status {
        for (const char *name : names)
          TEGULA_RETURN_IF_ERROR(compileOne(compiler, goal, problem, name));
        return {};
      },
      /*budget_ms=*/2000);
}

Expected<Row> measure(Compiler &compiler, const Goal &goal, const AttentionProblem &problem) {
  Expected<double> forward = compileMs(compiler, goal, problem, {"flash2_forward"});
  if (!forward)
    return forward.status();
  Expected<double> backward = compileMs(
      compiler, goal, problem, {"flash2_backward_preprocess", "flash2_backward", "flash2_backward_postprocess"});
  if (!backward)
    return backward.status();
  return Row{*forward, *backward};
}

Status run(const Goal &goal) {
  std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  fmt::print("C++ to {} for {} {}, {}: medians, ms (backward: its three kernels)\n   D  causal   forward  backward\n",
             goal.emit.empty() ? "binary" : goal.emit, goal.target.name, goal.target.arch, toString(goal.dtype));
  for (int head_dim : {64, 128, 256})
    for (Causal causal : {Causal::none, Causal::top_left}) {
      AttentionProblem problem = {.dtype = goal.dtype, .head_dim = head_dim, .value_dim = head_dim, .causal = causal};
      Expected<Row> row = measure(*compiler, goal, problem);
      if (!row)
        return row.status();
      fmt::print("{:4}  {:6} {:9.1f} {:9.1f}\n", head_dim, causal == Causal::none ? "no" : "yes", row->forward_ms,
                 row->backward_ms);
    }
  return {};
}

} // namespace

int main(int argc, char **argv) {
  Goal goal = {{"cuda", "sm_90"}, "ptx", bf16};
  CLI::App app("The time from a kernel in C++ to what the compiler makes of it.");
  app.add_option("--target", goal.target.name, "cpu, cuda or simt (cuda)");
  app.add_option("--arch", goal.target.arch, "The processor; empty: this machine's (sm_90)");
  app.add_option("--emit", goal.emit, "The phase to stop after; empty: the binary (ptx)");
  CLI11_PARSE(app, argc, argv);

  Status status = run(goal);
  if (status.ok())
    return 0;
  fmt::print(stderr, "tegula-bench-compile: {}\n", status.message());
  return 1;
}
