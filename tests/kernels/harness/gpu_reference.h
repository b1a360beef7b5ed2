// SPDX-License-Identifier: MIT
// The oracle's numbers for sizes that plain loops on the host cannot do, computed on the GPU by CUDA C++ that shares
// nothing with the kernels.
#pragma once

#include "harness/case.h"

namespace tegula::testing {

/// Compiles the reference for the case's element type and dimensions; `arch` as in compileCuda. Returns unsupported
/// without NVRTC.
Expected<std::string> compileReference(const Case &c, const std::string &arch);

/// The same as measure() with one run of the plain formula, for a case without a variant and without
/// lse_gradient, on a GPU: there are many rows.
Expected<std::vector<NamedError>> measureOnGpu(const Case &c, const Tensors &tensors);

} // namespace tegula::testing
