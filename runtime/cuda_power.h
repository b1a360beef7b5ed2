// SPDX-License-Identifier: MIT
// What only the management library (NVML) knows.
#pragma once

#include <string>

namespace tegula::cuda {

/// How many watts the GPU at this PCI address may draw; 0 if nobody tells. TEGULA_LIBNVML names another library than
/// libnvidia-ml.so.1. May throw std::bad_alloc.
int powerLimitWatts(const std::string &busId);

} // namespace tegula::cuda
