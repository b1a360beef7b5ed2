// SPDX-License-Identifier: MIT
// Memory of a device.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace tegula {

/// Owner of device memory, which it frees when destroyed. Device::allocate makes it, and it may outlive its Device.
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

  /// Takes over `data`, whose deleter frees the memory. For implementations of devices.
  Buffer(std::shared_ptr<void> data, int64_t bytes) noexcept : data_(std::move(data)), bytes_(bytes) {}

  /// Returns the address on the device (cpu: on the host), 64-byte aligned. It is null exactly if bytes() is 0.
  void *data() const noexcept { return data_.get(); }
  int64_t bytes() const noexcept { return bytes_; }

private:
  std::shared_ptr<void> data_;
  int64_t bytes_ = 0;
};

} // namespace tegula
