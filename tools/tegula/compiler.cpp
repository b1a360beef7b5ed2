// SPDX-License-Identifier: MIT
#include "compiler.h"

#include "compiler/client/InProcessCompiler.h"
#include "tegula/worker_compiler.h"

#include <utility>

namespace tegula::tools {
namespace {

class CachingCompiler final : public Compiler {
public:
  CachingCompiler(Compiler &compiler, ArtifactCache &kernels, std::string driver)
      : compiler_(compiler), kernels_(kernels), driver_(std::move(driver)) {}

  Expected<Artifact> compile(const CompileRequest &request) override {
    return kernels_.get(compiler_, request, driver_);
  }

  std::string identity(const Target &target) const override { return compiler_.identity(target); }

private:
  Compiler &compiler_;
  ArtifactCache &kernels_;
  const std::string driver_;
};

} // namespace

std::unique_ptr<Compiler> makeCompiler(int workers) {
  const Expected<std::string> program = findWorker();
  return program ? makeWorkerCompiler({.program = *program, .workers = workers}) : makeInProcessCompiler();
}

std::shared_ptr<ArtifactCache> openKernels(const Target &target, bool no_cache) {
  ArtifactCacheOptions options;
  if (no_cache || target.name == "simt")
    options.directory = "";
  return std::make_shared<ArtifactCache>(options);
}

std::unique_ptr<Compiler> makeCachingCompiler(Compiler &compiler, ArtifactCache &kernels, std::string driver) {
  return std::make_unique<CachingCompiler>(compiler, kernels, std::move(driver));
}

} // namespace tegula::tools
