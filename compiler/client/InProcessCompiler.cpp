// SPDX-License-Identifier: MIT
#include "compiler/client/InProcessCompiler.h"

#include "compiler/driver/Compile.h"

namespace tegula {

namespace {

struct InProcessCompiler : Compiler {
  Expected<Artifact> compile(const CompileRequest &request) override { return tegula::compile(request); }
};

} // namespace

std::unique_ptr<Compiler> makeInProcessCompiler() { return std::make_unique<InProcessCompiler>(); }

} // namespace tegula
