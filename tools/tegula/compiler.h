// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/artifact_cache.h"

#include <functional>
#include <memory>
#include <string>

namespace tegula::tools {

/// Returns the compiler of all commands. It runs in `workers` processes, so that a crash is an error like any other.
/// `stopped` is as in WorkerOptions.
std::unique_ptr<Compiler> makeCompiler(int workers = 1, std::function<bool()> stopped = {});

/// Returns the user's compiled kernels, which commands share with hosts. With `no_cache` and for simt there is no
/// directory, so that every kernel is compiled. The findings of simt name lines of source, which the key of an artifact
/// leaves out.
std::shared_ptr<ArtifactCache> openKernels(const Target &target, bool no_cache);

} // namespace tegula::tools
