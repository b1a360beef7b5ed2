// SPDX-License-Identifier: MIT
// Memory on the host and its copy on the test device.
#pragma once

#include "tegula/buffer.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tegula::testing {

class MirroredMemory {
public:
  MirroredMemory() = default;
  /// Fills the memory with `pattern`.
  MirroredMemory(size_t words, uint32_t pattern);

  /// Returns the host's side, to be written. The next device() copies it to the device.
  std::byte *host();
  /// Returns the host's side, to be read: as the device left it, even if kernels were launched since the last call.
  const std::byte *host() const;
  /// Returns the device's side, as the host left it. Valid as long as this object; kernels may write there.
  std::byte *device() const;

  size_t words() const { return words_.size(); }

private:
  enum class Side { host, device };

  void toHost() const;

  mutable std::vector<uint32_t> words_;
  Buffer buffer_;
  mutable Side newest_ = Side::host;
};

} // namespace tegula::testing
