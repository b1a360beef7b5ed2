// SPDX-License-Identifier: MIT
// Writes the PTX of every shipped schedule to a folder, one file each, without source lines. `diff -r` of the folders
// of two commits shows which kernels differ.
//   tegula_shipped_ptx FOLDER
#include "compiler/client/InProcessCompiler.h"
#include "kernels/schedules.h"
#include "tegula/attention.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace tegula;

namespace {

std::string nameOf(const Target &target, std::string_view program, const ShippedSchedule &shipped) {
  const AttentionProblem &problem = shipped.problem;
  std::string name = target.arch + " " + std::string(program) + " " + std::string(toString(problem.dtype)) + " D" +
                     std::to_string(problem.head_dim) + (problem.causal == Causal::none ? " " : " causal ") +
                     problem.variant.name + " " + toString(shipped.schedule) + ".ptx";
  return name;
}

std::string withoutSourceLines(const std::string &ptx) {
  std::istringstream lines(ptx);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    const std::string_view text = std::string_view(line).substr(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!text.starts_with(".loc ") && !text.starts_with(".file "))
      kept += line + "\n";
  }
  return kept;
}

Expected<std::string> ptxOf(Compiler &compiler, const Target &target, const AttentionProgram &entry,
                            const ShippedSchedule &shipped) {
  Expected<KernelConfig> resolved = resolve(shipped.problem, entry.name, target, shipped.schedule);
  if (!resolved)
    return resolved.status();
  Expected<Program> program = entry.record(resolved->config);
  if (!program)
    return program.status();
  Expected<Artifact> artifact = compiler.compile({program->text, resolved->schedule, target, "ptx"});
  if (!artifact)
    return artifact.status();
  return withoutSourceLines(artifact->text);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2)
    return std::fprintf(stderr, "usage: tegula_shipped_ptx FOLDER\n"), 2;
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  int failures = 0;
  for (const char *arch : {"sm_80", "sm_86", "sm_90a", "sm_100"})
    for (const AttentionProgram &program : attentionPrograms())
      for (const ShippedSchedule &shipped : shippedSchedules({"cuda", arch, ""}, program.name)) {
        const Target target = {"cuda", arch, ""};
        const std::string name = nameOf(target, program.name, shipped);
        if (Expected<std::string> ptx = ptxOf(*compiler, target, program, shipped); ptx)
          std::ofstream(folder / name) << *ptx;
        else
          std::fprintf(stderr, "%s: %s\n", name.c_str(), ptx.status().message().c_str()), ++failures;
      }
  return failures == 0 ? 0 : 1;
}
