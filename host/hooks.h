// SPDX-License-Identifier: MIT
// Objects that call a host's hooks.
#pragma once

#include "tegula/artifact_cache.h"
#include "tegula/tegula.h"

#include <functional>
#include <memory>
#include <vector>

namespace tegula {

/// Makes a compiler that tells the host of each compilation.
std::unique_ptr<Compiler> makeObservedCompiler(Compiler &compiler, const tegula_hooks &hooks);

/// Makes a store that keeps artifacts with the host; null if the host keeps nothing.
std::shared_ptr<ArtifactStore> makeHostStore(const tegula_hooks &hooks);

/// Runs all tasks on the host's executor and waits for them. The hooks must have an executor. Tasks must not throw.
void runOnHost(const tegula_hooks &hooks, const std::vector<std::function<void()>> &tasks);

} // namespace tegula
