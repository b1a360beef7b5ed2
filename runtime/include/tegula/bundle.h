// SPDX-License-Identifier: MIT
// Kernels that are compiled ahead of time and loaded where there is no compiler: a folder with `manifest.txt` and one
// file of machine code for each kernel. A cache reads it as one of ArtifactCacheOptions::read_only.
#pragma once

#include "tegula/artifact.h"
#include "tegula/status.h"

#include <string>
#include <vector>

namespace tegula {

/// A kernel with what it was compiled from.
struct BundledKernel {
  CompileRequest request;
  Artifact artifact;
};

/// Adds kernels to the bundle in `directory`, which is made if need be; one that was made from the same request is
/// replaced. Returns invalid_argument if there is something else in place of the folder or its manifest,
/// resource_exhausted if it cannot be written.
Status addToBundle(const std::string &directory, const std::vector<BundledKernel> &kernels) noexcept;

} // namespace tegula
