// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace tegula::test {

/// Returns how often the calling thread has used operator new.
int64_t allocations() noexcept;

} // namespace tegula::test
