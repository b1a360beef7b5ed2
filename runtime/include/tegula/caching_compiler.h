// SPDX-License-Identifier: MIT
// A compiler that keeps what it makes, for searches that are interrupted and begun again.
#pragma once

#include "tegula/artifact_cache.h"

#include <memory>
#include <string>

namespace tegula {

/// Returns a compiler that looks for each artifact among `kernels` first, and keeps there what `compiler` makes. Both
/// must outlive it. `driver` is as in ArtifactCache::get.
std::unique_ptr<Compiler> makeCachingCompiler(Compiler &compiler, ArtifactCache &kernels, std::string driver = {});

} // namespace tegula
