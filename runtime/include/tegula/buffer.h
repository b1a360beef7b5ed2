// SPDX-License-Identifier: MIT
// Memory of a device.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace tegula {

/// Owns memory of a device and frees it when destroyed; made by Device::allocate. It may outlive its Device.
/// Work that was enqueued on the memory must have finished before the Buffer is destroyed.
class Buffer {
public:
  Buffer() = default;
  Buffer(Buffer &&other) noexcept : data_(std::move(other.data_)), bytes_(std::exchange(other.bytes_, 0)) {}
  Buffer &operator=(Buffer &&other) noexcept {
    data_ = std::move(other.data_);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }

  /// For devices: takes over `data`, whose deleter frees the memory.
  Buffer(std::shared_ptr<void> data, int64_t bytes) noexcept : data_(std::move(data)), bytes_(bytes) {}

  /// Address on the device, 64-byte aligned (cpu: a host address); null exactly if bytes() is 0.
  void *data() const noexcept { return data_.get(); }
  int64_t bytes() const noexcept { return bytes_; }

private:
  std::shared_ptr<void> data_;
  int64_t bytes_ = 0;
};

} // namespace tegula
