// SPDX-License-Identifier: MIT
// Global memory as a kernel sees it. Each tensor has addresses of its own, far from all others: an access belongs to
// the tensor that its address was computed from, however wrong the offset is.
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
  /// Bytes relative to the first element. Whether each of them is of an element of the view.
  bool contains(int64_t offset, int64_t bytes) const;
  /// The lowest byte of the address tells how the host's memory is aligned.
  uint32_t alignment() const;

private:
  bool isElement(int64_t offset) const;

  struct Dimension {
    int64_t stride, size; ///< Bytes, positive; elements.
  };

  std::string name_;
  bool written_;
  std::byte *host_;
  ByteExtent extent_;
  int64_t elementBytes_;
  std::vector<Dimension> dimensions_; ///< Largest stride first; empty if the view's elements are not nested.
  bool dense_ = false;                ///< Every byte of the extent is of an element, or nothing better is known.
};

/// Where an address points.
struct Place {
  uint32_t tensor;
  int64_t offset; ///< Bytes from the first element.
};

/// The tensors of a launch.
class Memory {
public:
  Memory(std::span<const Parameter> parameters, std::span<const Argument> arguments,
         std::span<const TensorMap> maps = {});

  /// What the kernel reads its parameters from.
  const int64_t *words() const { return words_.data(); }
  const std::vector<TensorMemory> &tensors() const { return tensors_; }
  /// Nothing if the address was not computed from that of a tensor.
  std::optional<Place> find(uint64_t address) const;

private:
  /// Where it begins in the kernel's global memory.
  int64_t address(size_t tensor) const;
  void addParameter(const Parameter &parameter, const Argument &argument);
  /// Puts the maps before the other words, and after them which of the maps hold.
  void addMaps(std::span<const Argument> arguments, std::span<const TensorMap> maps);

  std::vector<TensorMemory> tensors_;
  std::vector<int64_t> words_;
};

/// Adds a T, as atom.relaxed does, and returns what was there; `to` is aligned.
template <class T> T addRelaxed(std::byte *to, const std::byte *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return std::atomic_ref(*reinterpret_cast<T *>(to)).fetch_add(value, std::memory_order_relaxed);
}

} // namespace tegula::simt
