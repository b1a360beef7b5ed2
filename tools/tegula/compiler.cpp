// SPDX-License-Identifier: MIT
#include "compiler.h"

#include "compiler/client/InProcessCompiler.h"
#include "tegula/worker_compiler.h"

#include <utility>

namespace tegula::tools {

std::unique_ptr<Compiler> makeCompiler(int workers, std::function<bool()> stopped) {
  const Expected<std::string> program = findWorker();
  if (!program)
    return makeInProcessCompiler();
  return makeWorkerCompiler({.program = *program, .workers = workers, .stopped = std::move(stopped)});
}

std::shared_ptr<ArtifactCache> openKernels(const Target &target, bool no_cache) {
  ArtifactCacheOptions options;
  if (no_cache || target.name == "simt")
    options.directory = "";
  return std::make_shared<ArtifactCache>(options);
}

} // namespace tegula::tools
