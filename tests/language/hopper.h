// SPDX-License-Identifier: MIT
// Runs programs on a GPU of compute capability 9.0, or on its executor.
#pragma once

#include "language/machine.h"

namespace tegula::language {

using Matrix = Array<Bf16>;

/// An element of a product, and the sum of the sizes of its terms.
struct ProductElement {
  double sum = 0, magnitude = 0;
};

template <class T> ProductElement productElement(Array<T> &a, Array<T> &b, int64_t i, int64_t j) {
  ProductElement element;
  for (int64_t k = 0; k < a.shape[1]; ++k) {
    const double term = double(a(i, k)) * double(b(k, j));
    element.sum += term;
    element.magnitude += std::abs(term);
  }
  return element;
}

/// Runs a program, by default without a schedule.
inline void launch(const Program &program, Grid grid, std::initializer_list<Argument> arguments,
                   const Schedule &schedule = {}) {
  static std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  KernelCache cache(*compiler, hopperDevice());
  auto kernel = cache.get(program.text, schedule);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  const Status status = (*kernel)->launch(grid, arguments);
  ASSERT_TRUE(status.ok()) << status.message();
}

inline std::string textOf(const Program &program, const Schedule &schedule, const char *phase) {
  Expected<Artifact> artifact = makeInProcessCompiler()->compile(
      {.program = program.text, .schedule = schedule, .target = {.name = "cuda", .arch = "sm_90a"}, .emit = phase});
  EXPECT_TRUE(artifact.ok()) << artifact.status().message();
  return artifact.ok() ? artifact->text : "";
}

inline std::string ptxOf(const Program &program, const Schedule &schedule = {}) {
  return textOf(program, schedule, "ptx");
}

} // namespace tegula::language
