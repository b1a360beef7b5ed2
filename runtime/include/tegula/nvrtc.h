// SPDX-License-Identifier: MIT
// Compilation of CUDA C++ in the process.
#pragma once

#include "tegula/status.h"

#include <span>
#include <string>

namespace tegula {

/// Compiles CUDA C++ with NVRTC, which is loaded when it is first needed (libnvrtc.so.13, then .12; the environment
/// variable TEGULA_LIBNVRTC names another file). `arch` is "sm_90a" for a cubin, or "compute_90" for PTX; see
/// loadCudaFunction. Returns compile_failed with the compiler's log. Returns invalid_argument for another `arch`.
/// Returns unsupported, with the reason, if there is no NVRTC.
Expected<std::string> compileCuda(const std::string &source, const std::string &arch,
                                  std::span<const std::string> options = {}) noexcept;

} // namespace tegula
