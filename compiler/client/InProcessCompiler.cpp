// SPDX-License-Identifier: MIT
#include "compiler/client/InProcessCompiler.h"

#include "compiler/driver/Compile.h"
#include "tegula/toolchain.h"

namespace tegula {

namespace {

struct InProcessCompiler : Compiler {
  Expected<Artifact> compile(const CompileRequest &request) override { return tegula::compile(request); }
  std::string identity(const Target &target) const override {
    return compilerIdentity(buildId(fileOf(reinterpret_cast<const void *>(&makeInProcessCompiler))), target);
  }
};

} // namespace

std::unique_ptr<Compiler> makeInProcessCompiler() { return std::make_unique<InProcessCompiler>(); }

} // namespace tegula
