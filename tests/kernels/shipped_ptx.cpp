// SPDX-License-Identifier: MIT
// Writes the PTX of every shipped schedule, of problems with options and of users' programs to a folder, one file each,
// without source lines. `diff -r` of the folders of two commits shows which kernels differ.
//   tegula_shipped_ptx FOLDER
#include "compiler/client/InProcessCompiler.h"
#include "kernels/ptx_cases.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace tegula;
using testing::PtxCase;

namespace {

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

Expected<std::string> ptxOf(Compiler &compiler, const PtxCase &one) {
  if (!one.program)
    return one.program.status();
  Expected<Artifact> artifact = compiler.compile({one.program->text, one.schedule, one.target, "ptx"});
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
  for (const auto &cases : {testing::shippedCases(), testing::optionCases(), testing::userCases()})
    for (const PtxCase &one : cases)
      if (Expected<std::string> ptx = ptxOf(*compiler, one); ptx)
        std::ofstream(folder / (one.name + ".ptx")) << *ptx;
      else
        std::fprintf(stderr, "%s: %s\n", one.name.c_str(), ptx.status().message().c_str()), ++failures;
  return failures == 0 ? 0 : 1;
}
