// SPDX-License-Identifier: MIT
// A host's functions as what the libraries ask for.
#pragma once

#include "tegula/artifact_cache.h"
#include "tegula/tegula.h"

#include <functional>
#include <memory>
#include <vector>

namespace tegula {

/// Tells the host of each compilation.
std::unique_ptr<Compiler> makeObservedCompiler(Compiler &compiler, const tegula_hooks &hooks);

/// Null if the host keeps nothing.
std::shared_ptr<ArtifactStore> makeHostStore(const tegula_hooks &hooks);

/// Runs all tasks on the host's executor, which there must be, and waits for them. Tasks must not throw.
void runOnHost(const tegula_hooks &hooks, const std::vector<std::function<void()>> &tasks);

} // namespace tegula
