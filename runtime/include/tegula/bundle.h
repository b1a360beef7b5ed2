// SPDX-License-Identifier: MIT
// Bundles: kernels that are compiled ahead of time and loaded without a compiler. A bundle is a directory with
// `manifest.txt` and one file of machine code for each kernel. A cache reads it as one of
// ArtifactCacheOptions::read_only.
#pragma once

#include "tegula/artifact.h"
#include "tegula/status.h"

#include <string>
#include <vector>

namespace tegula {

/// A kernel and the request that it was compiled from.
struct BundledKernel {
  CompileRequest request;
  Artifact artifact;
};

/// Adds kernels to the bundle in `directory`, which is made if it does not exist. A kernel replaces an older one that
/// was made from the same request. Returns invalid_argument if the directory or its manifest is something else. Returns
/// resource_exhausted if the directory cannot be written.
Status addToBundle(const std::string &directory, const std::vector<BundledKernel> &kernels) noexcept;

} // namespace tegula
