// SPDX-License-Identifier: MIT
// A compiler for hosts that have none.
#pragma once

#include "tegula/artifact.h"

namespace tegula {

/// Returns a compiler that refuses every request with needs_compile, for a host that only runs kernels of bundles
/// (ArtifactCacheOptions::read_only). It lives as long as the process.
Compiler &noCompiler() noexcept;

} // namespace tegula
