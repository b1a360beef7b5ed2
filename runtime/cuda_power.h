// SPDX-License-Identifier: MIT
// Values that only the management library (NVML) knows.
#pragma once

#include <string>

namespace tegula::cuda {

/// Returns the number of watts that the GPU at this PCI address may draw, or 0 if it cannot be found out.
/// TEGULA_LIBNVML names another library than libnvidia-ml.so.1. May throw std::bad_alloc.
int powerLimitWatts(const std::string &busId);

} // namespace tegula::cuda
