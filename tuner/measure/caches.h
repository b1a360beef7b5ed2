// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace tegula::tuning {

/// Returns the bytes of the largest cache of a target's device: L2 of the first GPU, the last level of a cpu.
int64_t cacheBytes(std::string_view target);

} // namespace tegula::tuning
