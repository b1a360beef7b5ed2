// SPDX-License-Identifier: MIT
// Skips or fails tests that need a tool which this machine lacks.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

namespace tegula {

/// Skips the running test because there is no `tool`. If the environment has CI=true, fails the test: a machine that
/// tests for everybody must have what `tools/setup --tests` installs. Use it as `return missingTool("ptxas");`.
inline void missingTool(std::string_view tool) {
  const char *ci = std::getenv("CI");
  if (ci != nullptr && std::string_view(ci) == "true")
    FAIL() << "there is no " << tool << ", which CI must have; tools/setup --tests installs it";
  GTEST_SKIP() << "there is no " << tool;
}

} // namespace tegula
