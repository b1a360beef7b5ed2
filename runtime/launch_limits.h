// SPDX-License-Identifier: MIT
// The limits that a launch and a load refuse to exceed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tegula {

/// The most parameters of a kernel. The limit lets a launch keep its tables on the stack.
inline constexpr size_t kMaxParameters = 64;

/// The limit that sizes and grid counts stay below, because positions inside a kernel have 32 bits.
inline constexpr int64_t kPositionLimit = int64_t{1} << 31;

/// The most program instances of a launch. It is so far below 2^63 that a shared counter cannot overflow.
inline constexpr int64_t kMaxInstances = int64_t{1} << 62;

/// The most threads of a cpu device.
inline constexpr int kMaxThreads = 1024;

} // namespace tegula
