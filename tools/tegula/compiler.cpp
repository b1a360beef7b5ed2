// SPDX-License-Identifier: MIT
#include "compiler.h"

#include "tegula/worker_compiler.h"

#include <utility>

namespace tegula::tools {

std::unique_ptr<Compiler> makeCompiler(int workers, std::function<bool()> stopped) {
  return makeWorkerCompiler({.workers = workers, .stopped = std::move(stopped)});
}

std::shared_ptr<ArtifactCache> openKernels(const Target &target, bool no_cache) {
  ArtifactCacheOptions options;
  if (no_cache || target.name == "simt")
    options.directory = "";
  return std::make_shared<ArtifactCache>(options);
}

} // namespace tegula::tools
