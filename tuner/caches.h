// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace tegula::tuning {

/// Returns how many copies of tensors launches take in turn, so that none finds its own in the caches of a target's
/// device: L2 of the first GPU, or the last level of a cpu.
int64_t copiesFor(std::string_view target, int64_t tensor_bytes);

} // namespace tegula::tuning
