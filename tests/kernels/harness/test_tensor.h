// SPDX-License-Identifier: MIT
// A tensor in device memory of its own, between and around whose elements lies poison that nothing may touch or use.
#pragma once

#include "support/mirrored_memory.h"
#include "tegula/tensor.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tegula::testing {

/// How the elements lie in memory.
enum class Layout {
  contiguous,
  permuted,  ///< The second and third of four dimensions are swapped in memory, as in [batch, seqlen, heads, dim].
  padded,    ///< Poison after each row, and an odd number of elements in front.
  scattered, ///< The last dimension has a stride of 3, the first is outermost but one.
  reversed,  ///< All strides are negative.
};
inline constexpr Layout kLayouts[] = {Layout::contiguous, Layout::permuted, Layout::padded, Layout::scattered,
                                      Layout::reversed};
std::string_view toString(Layout layout);

/// What fills all memory that is no element, and outputs before a launch.
enum class Poison : uint32_t {
  nan = 0x7fa55a5a,       ///< A NaN with a payload, read as f32, f16 or bf16.
  subnormal = 0x00010001, ///< A subnormal number; adding 0 to it may flush it.
  huge = 0x7b007b00,      ///< Large finite numbers.
  infinity = 0x7f800000,  ///< In f16: NaN and 0.
};
inline constexpr Poison kPoisons[] = {Poison::nan, Poison::subnormal, Poison::huge, Poison::infinity};

class TestTensor {
public:
  TestTensor() = default;
  TestTensor(TestTensor &&) = default; // A copy would need addresses of its own.
  TestTensor &operator=(TestTensor &&) = default;
  /// All elements are poison at first.
  TestTensor(DType dtype, std::vector<int64_t> shape, Layout layout, Poison poison);
  /// Elements in C order, rounded to the element type.
  TestTensor(DType dtype, std::vector<int64_t> shape, Layout layout, Poison poison, const std::vector<float> &numbers);
  TestTensor(std::vector<int64_t> shape, Layout layout, Poison poison, const std::vector<int32_t> &numbers);

  /// On the test device, as the host left it.
  TensorRef ref() const;
  /// The same elements with stride 0 along a dimension: the first slice stands for all.
  TensorRef broadcastAlong(int axis) const;

  /// Elements in C order.
  std::vector<float> numbers() const;
  /// The elements' bytes, in C order.
  std::vector<std::byte> bits() const;
  void fill(float number);
  void poison();
  /// Whether every byte that is not part of an element is as it was.
  bool surroundingsIntact() const;

private:
  size_t count() const;
  int64_t offset(size_t place) const; // Bytes from the start of the memory; places are in C order.

  DType dtype_ = f32;
  std::vector<int64_t> shape_;
  Poison poison_ = Poison::nan;
  MirroredMemory memory_;
  int64_t first_ = 0; // Element 0 as a number of elements from the start of the memory.
  std::vector<int64_t> strides_;
};

} // namespace tegula::testing
