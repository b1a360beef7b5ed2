// SPDX-License-Identifier: MIT
#include "tegula/no_compiler.h"

namespace tegula {
namespace {

class NoCompiler final : public Compiler {
public:
  Expected<Artifact> compile(const CompileRequest &) override {
    return Status(ErrorCode::needs_compile, "this host has no compiler; bring the kernel in a bundle");
  }
};

} // namespace

Compiler &noCompiler() noexcept {
  static NoCompiler compiler;
  return compiler;
}

} // namespace tegula
