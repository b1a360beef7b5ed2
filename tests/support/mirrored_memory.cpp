// SPDX-License-Identifier: MIT
#include "support/mirrored_memory.h"

#include "support/test_device.h"

namespace tegula::testing {

static int64_t bytesOf(const std::vector<uint32_t> &words) { return int64_t(words.size() * sizeof(uint32_t)); }

MirroredMemory::MirroredMemory(size_t words, uint32_t pattern)
    : words_(words, pattern), buffer_(valueOf(testDevice()->allocate(bytesOf(words_)))) {}

void MirroredMemory::toHost() const {
  if (newest_ == Side::host)
    return;
  require(testDevice()->copyToHost(words_.data(), buffer_.data(), bytesOf(words_)));
  require(testDevice()->synchronize());
}

std::byte *MirroredMemory::host() {
  toHost();
  newest_ = Side::host;
  return reinterpret_cast<std::byte *>(words_.data());
}

const std::byte *MirroredMemory::host() const {
  toHost();
  return reinterpret_cast<const std::byte *>(words_.data());
}

std::byte *MirroredMemory::device() const {
  if (newest_ == Side::host) {
    require(testDevice()->copyToDevice(buffer_.data(), words_.data(), bytesOf(words_)));
    require(testDevice()->synchronize());
  }
  newest_ = Side::device;
  return static_cast<std::byte *>(buffer_.data());
}

} // namespace tegula::testing
