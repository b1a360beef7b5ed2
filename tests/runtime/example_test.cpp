// SPDX-License-Identifier: MIT
// Compiles and runs the example of docs/runtime.md.
#include "fixture.h"
#include "runtime_example.inc"

#include <gtest/gtest.h>

namespace {

/// A stand-in for the compiler. Scaling `x` by 0.5 is the kernel `halve` of kernels.c.
class FixedCompiler final : public tegula::Compiler {
public:
  tegula::Expected<tegula::Artifact> compile(const tegula::CompileRequest &) override {
    using namespace tegula::test;
    return artifact("halve", {scalar("x", tegula::f32), written("out", tegula::f32)});
  }
};

TEST(Example, OfTheDocumentationRuns) {
  FixedCompiler compiler;
  std::vector<float> out(100);
  EXPECT_OK(fillWithHalf(compiler, "", 3.0f, out));
  EXPECT_EQ(out, std::vector<float>(100, 1.5f));
}

} // namespace
