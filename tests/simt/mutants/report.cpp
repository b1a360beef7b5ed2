// SPDX-License-Identifier: MIT
// Tries all mutants of all kernels that ship, or of those whose target and name contain a word, and prints a table as
// Markdown.
#include "mutants/sweep.h"

#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

using namespace tegula;
using namespace tegula::testing;

namespace {

/// One row: kernels of one program, head dimension, variant and schedule.
struct Group {
  std::string text;
  int64_t kernels = 0, mutants = 0;
  std::vector<std::string> survivors;
};

std::vector<SweptKernel> kernelsThatContain(const std::string &word) {
  std::vector<SweptKernel> kernels = sweptKernels();
  std::erase_if(kernels, [&](const SweptKernel &kernel) {
    return (kernel.target + " " + kernel.name()).find(word) == std::string::npos;
  });
  return kernels;
}

std::string textOf(const SweptKernel &kernel, const Schedule &schedule) {
  return fmt::format("{} {} | {}{} | {}", kernel.target, kernel.program, kernel.problem.head_dim,
                     kernel.variant.empty() ? "" : fmt::format(", {}", kernel.variant), toString(schedule));
}

void add(std::vector<Group> &groups, const SweptKernel &kernel, const Sweep &sweep) {
  const std::string text = textOf(kernel, sweep.schedule);
  if (groups.empty() || groups.back().text != text)
    groups.push_back({.text = text, .survivors = {}});
  Group &group = groups.back();
  ++group.kernels;
  group.mutants += sweep.mutants;
  for (const std::string &survivor : sweep.survivors)
    group.survivors.push_back(kernel.name() + ": " + survivor);
}

} // namespace

int main(int argc, char **argv) {
  std::vector<Group> groups;
  bool ok = true;
  for (const SweptKernel &kernel : kernelsThatContain(argc > 1 ? argv[1] : "")) {
    std::fprintf(stderr, "%s %s\n", kernel.target.c_str(), kernel.name().c_str());
    Expected<Sweep> result = sweep(kernel);
    if (!result) {
      std::fprintf(stderr, "  %s\n", result.status().message().c_str());
      ok = false;
      continue;
    }
    add(groups, kernel, *result);
    for (const std::string &mutant : unexplained(kernel, *result)) {
      std::fprintf(stderr, "  not explained: %s\n", mutant.c_str());
      ok = false;
    }
  }
  std::printf("| kernel | head dimension | schedule | kernels | mutants | survive |\n|---|---|---|---|---|---|\n");
  for (const Group &group : groups)
    std::printf("| %s | %ld | %ld | %zu |\n", group.text.c_str(), long(group.kernels), long(group.mutants),
                group.survivors.size());
  std::printf("\n");
  for (const Group &group : groups)
    for (const std::string &survivor : group.survivors)
      std::printf("- %s\n", survivor.c_str());
  return ok ? 0 : 1;
}
