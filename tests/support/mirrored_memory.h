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
  /// Filled with `pattern`.
  MirroredMemory(size_t words, uint32_t pattern);

  /// The host's side, to be written: the next device() brings it over.
  std::byte *host();
  /// The host's side, to be read: as the device left it, also if kernels were launched since the last call.
  const std::byte *host() const;
  /// The device's side as the host left it. Valid as long as this object; kernels may write there.
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
