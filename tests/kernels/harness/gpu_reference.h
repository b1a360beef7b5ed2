// SPDX-License-Identifier: MIT
// Computes the oracle's numbers on the GPU, for sizes that are too large for plain loops on the host. The CUDA C++
// shares nothing with the kernels.
#pragma once

#include "harness/case.h"

namespace tegula::testing {

/// Compiles the reference for the case's element type and dimensions. `arch` has the form that compileCuda takes.
/// Returns the error `unsupported` if there is no NVRTC.
Expected<std::string> compileReference(const Case &c, const std::string &arch);

/// Does the same as measure() with one run of the plain formula, on a GPU: there are many rows, so one run is enough.
/// The case must have no variant and no lse_gradient.
Expected<std::vector<NamedError>> measureOnGpu(const Case &c, const Tensors &tensors);

} // namespace tegula::testing
