// SPDX-License-Identifier: MIT
// A tensor in its own device memory. Between and around its elements lies poison that nothing may touch or use.
#pragma once

#include "support/mirrored_memory.h"
#include "tegula/tensor.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tegula::testing {

/// The way in which the elements lie in memory.
enum class Layout {
  contiguous,
  permuted,  ///< The second and third of four dimensions are swapped in memory, as in [batch, seqlen, heads, dim].
  padded,    ///< Poison after each row, and an odd number of elements in front.
  scattered, ///< The last dimension has stride 3; the first two dimensions are swapped in memory.
  reversed,  ///< All strides are negative.
};
inline constexpr Layout kLayouts[] = {Layout::contiguous, Layout::permuted, Layout::padded, Layout::scattered,
                                      Layout::reversed};
std::string_view toString(Layout layout);

/// The pattern that fills all memory between elements, and outputs before a launch. kPoisons are the patterns that
/// kernels of attention meet.
enum class Poison : uint32_t {
  nan = 0x7fa55a5a,       ///< A NaN with a payload, read as f32, f16 or bf16.
  subnormal = 0x00010001, ///< A subnormal number; adding 0 to it may flush it.
  huge = 0x7b007b00,      ///< Large finite numbers.
  infinity = 0x7f800000,  ///< In f16: NaN and 0.
  ones = 0xffffffff,      ///< A NaN in each float type, -1 in each integer type.
};
inline constexpr Poison kPoisons[] = {Poison::nan, Poison::subnormal, Poison::huge, Poison::infinity};

class TestTensor {
public:
  TestTensor() = default;
  TestTensor(TestTensor &&) = default; // A copy would need its own addresses.
  TestTensor &operator=(TestTensor &&) = default;
  /// Makes a tensor whose elements are poison.
  TestTensor(DType dtype, std::vector<int64_t> shape, Layout layout, Poison poison);
  /// Makes a tensor from elements in C order, rounded to the element type.
  TestTensor(DType dtype, std::vector<int64_t> shape, Layout layout, Poison poison, const std::vector<float> &numbers);
  /// The elements' bytes, in C order.
  TestTensor(DType dtype, std::vector<int64_t> shape, Layout layout, Poison poison, std::span<const std::byte> bits);
  TestTensor(std::vector<int64_t> shape, Layout layout, Poison poison, const std::vector<int32_t> &numbers);

  /// Returns the tensor in the test device's memory, with the elements that the host has written.
  TensorRef ref() const;
  /// Returns the tensor with stride 0 along `axis`: the first slice stands for all.
  TensorRef broadcastAlong(int axis) const;

  /// Returns the elements in C order.
  std::vector<float> numbers() const;
  /// Returns the bytes of the elements, in C order.
  std::vector<std::byte> bits() const;
  void fill(float number);
  void poison();
  /// Returns true if no byte outside the elements has changed.
  bool surroundingsIntact() const;

private:
  size_t count() const;
  int64_t offset(size_t place) const; // Bytes from the start of the memory; `place` counts elements in C order.

  DType dtype_ = f32;
  std::vector<int64_t> shape_;
  Poison poison_ = Poison::nan;
  MirroredMemory memory_;
  int64_t first_ = 0; // Distance of element 0 from the start of the memory, in elements.
  std::vector<int64_t> strides_;
};

} // namespace tegula::testing
