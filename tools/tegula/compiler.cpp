// SPDX-License-Identifier: MIT
#include "compiler.h"

#include "compiler/client/InProcessCompiler.h"
#include "tegula/worker_compiler.h"

namespace tegula::tools {

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

} // namespace tegula::tools
