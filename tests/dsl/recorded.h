// SPDX-License-Identifier: MIT
// Records small kernels for tests that look at the text.
#pragma once

#include "tegula/dsl.h"

#include <gtest/gtest.h>
#include <sstream>
#include <string>

/// Returns the text of `kernel(x, out)` with f32 tensors of rank 1 and no locations.
template <class Kernel> std::string textOf(Kernel &&kernel, tegula::DType dtype = tegula::f32, int rank = 1) {
  auto program =
      tegula::record("test", kernel, tegula::TensorArg{"x", dtype, rank}, tegula::TensorArg{"out", dtype, rank});
  EXPECT_TRUE(program) << program.status().message();
  std::istringstream lines(program ? program->text : "");
  std::string text;
  for (std::string line; std::getline(lines, line);)
    text += line.substr(0, line.find(" loc(")) + "\n";
  return text;
}

inline int occurrences(const std::string &text, const std::string &part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++count;
  return count;
}

inline void expectContains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in\n" << text;
}
