// SPDX-License-Identifier: MIT
#include "tegula/caching_compiler.h"

#include <utility>

namespace tegula {
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

std::unique_ptr<Compiler> makeCachingCompiler(Compiler &compiler, ArtifactCache &kernels, std::string driver) {
  return std::make_unique<CachingCompiler>(compiler, kernels, std::move(driver));
}

} // namespace tegula
