// SPDX-License-Identifier: MIT
// The limits that a launch and a load refuse to exceed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tegula {

/// Parameters of a kernel; lets a launch keep its tables on the stack.
inline constexpr size_t kMaxParameters = 64;

/// Sizes and grid counts are below it: positions inside a kernel have 32 bits.
inline constexpr int64_t kPositionLimit = int64_t{1} << 31;

/// Program instances of a launch; far enough below 2^63 that a shared counter cannot overflow.
inline constexpr int64_t kMaxInstances = int64_t{1} << 62;

/// Threads of a cpu device.
inline constexpr int kMaxThreads = 1024;

} // namespace tegula
