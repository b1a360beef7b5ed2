// SPDX-License-Identifier: MIT
// Views of tensors in memory, and the bytes that they cover.
#pragma once

#include "tegula/dtype.h"
#include "tegula/status.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace tegula {

inline constexpr int kMaxRank = 5;

/// A view of a tensor: plain data that owns nothing. Element (i, j, ...) lies at data + (i * strides[0] + j *
/// strides[1] + ...) * sizeOf(dtype) bytes. Strides count elements and may be 0 (a broadcast) or negative.
struct TensorRef {
  void *data = nullptr; ///< Address on the device; may be null if there are no elements.
  DType dtype = f32;
  int rank = 0; ///< Number of entries of `shape` and `strides` in use, at most 5.
  int64_t shape[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};
};

/// A range of bytes relative to TensorRef::data, from `lowest` up to, not including, `highest`.
struct ByteExtent {
  int64_t lowest = 0; ///< At most 0.
  int64_t highest = 0;
};

/// A range of addresses from `begin` up to, not including, `end`.
struct AddressRange {
  uintptr_t begin, end;

  bool meets(const AddressRange &other) const noexcept { return begin < other.end && other.begin < end; }
};

/// Returns a view in C order: the last dimension is contiguous. A stride that 64 bits cannot hold is cut to the largest
/// number, so that byteExtent and a launch refuse the view. Returns invalid_argument if `shape` has more than 5 sizes.
Expected<TensorRef> contiguous(void *data, DType dtype, std::span<const int64_t> shape);

/// Returns a view in C order for a shape that is written out: `contiguous(q, bf16, {batch, heads, length, 64})`.
template <size_t Rank>
  requires(Rank <= kMaxRank)
TensorRef contiguous(void *data, DType dtype, const int64_t (&shape)[Rank]) {
  return *contiguous(data, dtype, std::span<const int64_t>(shape));
}

/// Returns a view of the same elements with dimension `order[i]` at position i: {0, 2, 1, 3} swaps the middle
/// dimensions. Returns invalid_argument if `order` does not name every dimension once.
Expected<TensorRef> permuted(const TensorRef &tensor, std::span<const int> order);
inline Expected<TensorRef> permuted(const TensorRef &tensor, std::initializer_list<int> order) {
  return permuted(tensor, std::span<const int>(order.begin(), order.size()));
}

/// Returns the number of elements. Returns invalid_argument for a rank outside 0 to 5, a negative size, or more than
/// 2^63 - 1 elements.
Expected<int64_t> numel(const TensorRef &tensor);

/// Returns the bytes from the lowest to the highest element; empty if there are no elements. Returns invalid_argument
/// as numel does, and if an offset exceeds 63 bits or an address 64.
Expected<ByteExtent> byteExtent(const TensorRef &tensor);

/// Returns the addresses of these bytes; empty, at 0, if there are no elements. The errors are those of byteExtent.
Expected<AddressRange> addressRange(const TensorRef &tensor);

/// Returns true if an element of `a` shares a byte with an element of `b`. The result is exact for views with nested
/// strides, even if they are interleaved: Q, K and V of one packed tensor do not overlap. Also returns true if a
/// bounded search cannot tell, if one of the views extends over 2^60 bytes, or if byteExtent refuses one.
bool overlaps(const TensorRef &a, const TensorRef &b) noexcept;

/// Returns true if two elements share an address, as with stride 0 on a dimension larger than 1. Also returns true if a
/// bounded search cannot tell, if the view extends over 2^60 bytes, or if byteExtent refuses it.
bool overlapsItself(const TensorRef &tensor) noexcept;

} // namespace tegula
