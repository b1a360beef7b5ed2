// SPDX-License-Identifier: MIT
#include "tegula/tensor.h"

#include "checks.h"

#include <limits>

namespace tegula {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

std::string tooManyDimensions(int64_t rank) {
  return "rank " + std::to_string(rank) + " is outside 0 to " + std::to_string(kMaxRank);
}

Status checkSizes(const TensorRef &tensor) {
  if (tensor.rank < 0 || tensor.rank > kMaxRank)
    return invalid(tooManyDimensions(tensor.rank));
  for (int i = 0; i < tensor.rank; ++i)
    if (tensor.shape[i] < 0)
      return invalid("size " + std::to_string(tensor.shape[i]) + " of dimension " + std::to_string(i) + " is negative");
  return {};
}

/// Returns `a * b`, or the largest number if the product is larger. `b` must be at least 0.
int64_t saturatingProduct(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? kMax : product;
}

bool isEmpty(const TensorRef &tensor) {
  for (int i = 0; i < tensor.rank; ++i)
    if (tensor.shape[i] == 0)
      return true;
  return false;
}

Status tooManyElements() { return invalid("more than 2^63 - 1 elements"); }

/// Sets `count` to the number of elements. Returns false if 63 bits cannot hold it.
bool countElements(const TensorRef &tensor, int64_t &count) {
  count = isEmpty(tensor) ? 0 : 1;
  for (int i = 0; count != 0 && i < tensor.rank; ++i)
    if (__builtin_mul_overflow(count, tensor.shape[i], &count))
      return false;
  return true;
}

/// Widens `extent`, in elements, by a dimension. Returns false if 64 bits cannot hold the result.
bool widen(ByteExtent &extent, int64_t size, int64_t stride) {
  int64_t reach;
  if (__builtin_mul_overflow(size - 1, stride, &reach))
    return false;
  int64_t &end = reach < 0 ? extent.lowest : extent.highest;
  return !__builtin_add_overflow(end, reach, &end);
}

/// Converts offsets of elements to bytes. `highest` becomes the end of the highest element. Returns false if 64 bits
/// cannot hold an offset.
bool scaleToBytes(ByteExtent &extent, int64_t elementBytes) {
  return !__builtin_mul_overflow(extent.lowest, elementBytes, &extent.lowest) &&
         !__builtin_mul_overflow(extent.highest, elementBytes, &extent.highest) &&
         !__builtin_add_overflow(extent.highest, elementBytes, &extent.highest);
}

/// Widens `extent`, which is empty, by all dimensions. Returns false if 64 bits cannot hold an offset.
bool reachAll(const TensorRef &tensor, ByteExtent &extent) {
  for (int i = 0; i < tensor.rank; ++i)
    if (!widen(extent, tensor.shape[i], tensor.strides[i]))
      return false;
  return scaleToBytes(extent, static_cast<int64_t>(sizeOf(tensor.dtype)));
}

bool addressesFit(const void *data, const ByteExtent &extent) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  uintptr_t end;
  return !__builtin_add_overflow(address, extent.lowest, &end) &&
         !__builtin_add_overflow(address, extent.highest, &end);
}

/// Sets `extent`, which is empty. Returns false if a size, an offset or an address is wrong. Each launch asks this of
/// each tensor, so it makes no message.
bool findExtent(const TensorRef &tensor, ByteExtent &extent) {
  if (tensor.rank < 0 || tensor.rank > kMaxRank)
    return false;
  for (int i = 0; i < tensor.rank; ++i)
    if (tensor.shape[i] < 0)
      return false;
  int64_t count;
  if (!countElements(tensor, count))
    return false;
  return count == 0 || (reachAll(tensor, extent) && addressesFit(tensor.data, extent));
}

} // namespace

Expected<TensorRef> contiguous(void *data, DType dtype, std::span<const int64_t> shape) {
  if (shape.size() > kMaxRank)
    return invalid(tooManyDimensions(static_cast<int64_t>(shape.size())));
  TensorRef tensor{.data = data, .dtype = dtype, .rank = static_cast<int>(shape.size()), .shape = {}, .strides = {}};
  int64_t stride = 1;
  for (int i = tensor.rank - 1; i >= 0; --i) {
    tensor.shape[i] = shape[i];
    tensor.strides[i] = stride;
    stride = saturatingProduct(stride, shape[i] > 1 ? shape[i] : 1);
  }
  return tensor;
}

Expected<TensorRef> permuted(const TensorRef &tensor, std::span<const int> order) {
  TEGULA_RETURN_IF_ERROR(checkSizes(tensor));
  if (order.size() != static_cast<size_t>(tensor.rank))
    return invalid("an order of " + std::to_string(order.size()) + " dimensions for a tensor of rank " +
                   std::to_string(tensor.rank));
  TensorRef result = tensor;
  unsigned seen = 0;
  for (int i = 0; i < tensor.rank; ++i) {
    const int from = order[i];
    if (from < 0 || from >= tensor.rank || (seen >> from & 1) != 0)
      return invalid("dimension " + std::to_string(from) + " in place " + std::to_string(i) +
                     " of the order is out of range or named twice");
    seen |= 1u << from;
    result.shape[i] = tensor.shape[from];
    result.strides[i] = tensor.strides[from];
  }
  return result;
}

Expected<int64_t> numel(const TensorRef &tensor) {
  TEGULA_RETURN_IF_ERROR(checkSizes(tensor));
  int64_t count;
  if (!countElements(tensor, count))
    return tooManyElements();
  return count;
}

Expected<ByteExtent> byteExtent(const TensorRef &tensor) {
  if (ByteExtent extent; findExtent(tensor, extent))
    return extent;
  TEGULA_RETURN_IF_ERROR(numel(tensor).status());
  if (ByteExtent extent; !reachAll(tensor, extent))
    return invalid("the offset of an element exceeds 63 bits");
  return invalid("the address of an element exceeds 64 bits");
}

Expected<AddressRange> addressRange(const TensorRef &tensor) {
  ByteExtent extent;
  if (!findExtent(tensor, extent))
    return byteExtent(tensor).status();
  if (extent.lowest == extent.highest)
    return AddressRange{};
  const auto address = reinterpret_cast<uintptr_t>(tensor.data);
  return AddressRange{address + extent.lowest, address + extent.highest};
}

} // namespace tegula
