// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>
#include <utility>

namespace tegula {

/// Owner of a file descriptor.
class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor &&other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0)
      close(number_);
  }

  bool isOpen() const noexcept { return number_ >= 0; }
  int number() const noexcept { return number_; }
  /// Returns the descriptor to a new owner.
  int release() noexcept { return std::exchange(number_, -1); }

private:
  int number_ = -1;
};

} // namespace tegula
