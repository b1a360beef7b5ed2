// SPDX-License-Identifier: MIT
// What random kernels may read and write.
#pragma once

#include <cstdint>

namespace tegula::ptx_fuzz {

/// Bytes that a kernel reads, and bytes after them that it also writes.
inline constexpr unsigned kInputBytes = 256, kOutputBytes = 256;

/// The parameters of a kernel, as they lie in its block of parameters.
struct Parameters {
  uint64_t input;
  uint64_t output;
  uint32_t integers[2];
  uint64_t wide;
  uint32_t floats[2];
};

} // namespace tegula::ptx_fuzz
