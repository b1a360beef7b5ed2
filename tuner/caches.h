// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace tegula::tuning {

/// Returns the bytes of the largest cache of a target's device: L2 of the first GPU, the last level of a cpu.
int64_t cacheBytes(std::string_view target);

/// Returns how many copies of tensors launches take in turn, so that none finds its own in the caches.
int64_t copiesFor(int64_t cache_bytes, int64_t tensor_bytes);

} // namespace tegula::tuning
