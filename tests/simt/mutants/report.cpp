// SPDX-License-Identifier: MIT
// Tries all mutants of all kernels that ship, of the kernel that is named, or of the kernels whose name contains the
// given words. Prints a table as Markdown. With --list, prints only the names.
#include "mutants/sweep.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

using namespace tegula;
using namespace tegula::testing;

namespace {

/// A row of the table: kernels of one program, head dimension, variant and schedule.
struct Group {
  std::string text;
  int64_t kernels = 0, mutants = 0;
  std::vector<std::string> survivors;
};

std::string nameOf(const SweptKernel &kernel) { return kernel.target + " " + kernel.name(); }

/// Returns the kernel of that name. If there is none, returns the kernels whose name contains the words.
std::vector<SweptKernel> kernelsCalled(const std::string &words) {
  std::vector<SweptKernel> kernels = sweptKernels();
  const bool isName = std::ranges::find(kernels, words, nameOf) != kernels.end();
  std::erase_if(kernels, [&](const SweptKernel &kernel) {
    return isName ? nameOf(kernel) != words : nameOf(kernel).find(words) == std::string::npos;
  });
  return kernels;
}

void list() {
  for (const SweptKernel &kernel : sweptKernels())
    std::printf("%s\n", nameOf(kernel).c_str());
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
  const std::string words = argc > 1 ? argv[1] : "";
  if (words == "--list")
    return list(), 0;
  std::vector<Group> groups;
  bool ok = true;
  for (const SweptKernel &kernel : kernelsCalled(words)) {
    std::fprintf(stderr, "%s\n", nameOf(kernel).c_str());
    Expected<Sweep> result = sweep(kernel);
    if (!result) {
      std::fprintf(stderr, "  %s\n", result.status().message().c_str());
      ok = false;
      continue;
    }
    add(groups, kernel, *result);
    for (const std::string &mutant : unexplained(*result)) {
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
