// SPDX-License-Identifier: MIT
// Compiling CUDA C++ in the process.
#pragma once

#include "tegula/status.h"

#include <span>
#include <string>

namespace tegula {

/// Compiles CUDA C++ with NVRTC, which is looked for when it is first needed (libnvrtc.so.13, then .12; the environment
/// variable TEGULA_LIBNVRTC names another file). `arch` "sm_90a" gives a cubin, "compute_90" PTX; see loadCudaFunction.
/// Returns compile_failed with the compiler's log. Returns invalid_argument for another `arch`. Returns unsupported,
/// with the reason, if there is no NVRTC.
Expected<std::string> compileCuda(const std::string &source, const std::string &arch,
                                  std::span<const std::string> options = {}) noexcept;

} // namespace tegula
