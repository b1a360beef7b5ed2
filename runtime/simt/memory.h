// SPDX-License-Identifier: MIT
// Global memory as a kernel sees it. Each tensor has its own addresses, far from all others. An access belongs to the
// tensor from whose address it was computed, even if the offset is far outside.
#pragma once

#include "tegula/kernel.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tegula::simt {

/// One tensor of a launch.
class TensorMemory {
public:
  TensorMemory(const Parameter &parameter, const TensorRef &tensor);

  const std::string &name() const { return name_; }
  bool written() const { return written_; }
  std::byte *host() const { return host_; }
  /// Returns true if each of `bytes` bytes is part of an element of the view. `offset` is in bytes from the first
  /// element.
  bool contains(int64_t offset, int64_t bytes) const;
  /// Returns the low 12 bits of the host's address. The kernel sees the same alignment.
  uint32_t alignment() const;

private:
  bool isElement(int64_t offset) const;

  struct Dimension {
    int64_t stride, size; ///< Stride in bytes, positive; size in elements.
  };

  std::string name_;
  bool written_;
  std::byte *host_;
  ByteExtent extent_;
  int64_t elementBytes_;
  std::vector<Dimension> dimensions_; ///< Largest stride first.
  bool dense_ = false;                ///< Every byte of the extent is part of an element, or the dimensions overlap.
};

/// The tensor and offset that an address stands for.
struct Place {
  uint32_t tensor;
  int64_t offset; ///< In bytes from the first element.
};

/// The tensors of a launch.
class Memory {
public:
  Memory(std::span<const Parameter> parameters, std::span<const Argument> arguments,
         std::span<const TensorMap> maps = {});

  /// Returns the parameters that the kernel reads.
  const int64_t *words() const { return words_.data(); }
  const std::vector<TensorMemory> &tensors() const { return tensors_; }
  /// Returns the tensor and offset of an address, or nothing if the address belongs to no tensor.
  std::optional<Place> find(uint64_t address) const;

private:
  /// Returns the address of a tensor's first element in the kernel's global memory.
  int64_t address(size_t tensor) const;
  void addParameter(const Parameter &parameter, const Argument &argument);
  /// Puts the tensor maps before the other parameters. Adds a last parameter that says which maps could be made.
  void addMaps(std::span<const Argument> arguments, std::span<const TensorMap> maps);

  std::vector<TensorMemory> tensors_;
  std::vector<int64_t> words_;
};

/// Adds a T, as atom.relaxed does, and returns the value before. `to` must be aligned.
template <class T> T addRelaxed(std::byte *to, const std::byte *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return std::atomic_ref(*reinterpret_cast<T *>(to)).fetch_add(value, std::memory_order_relaxed);
}

} // namespace tegula::simt
