// SPDX-License-Identifier: MIT
#include "support/test_tensor.h"

#include "workload/elements.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tegula::testing {
namespace {

constexpr int64_t kRedzone = 256; // elements

/// Returns the dimensions from the outermost to the innermost in memory.
std::vector<int> memoryOrder(int rank, Layout layout) {
  std::vector<int> order(rank);
  for (int d = 0; d < rank; ++d)
    order[d] = d;
  if (layout == Layout::permuted && rank >= 3)
    std::swap(order[1], order[2]);
  if (layout == Layout::scattered && rank >= 2)
    std::swap(order[0], order[1]);
  return order;
}

struct Placement {
  std::vector<int64_t> strides;
  int64_t first = kRedzone; // index of element 0
  int64_t total = 0;        // number of elements in memory
};

Placement place(const std::vector<int64_t> &shape, Layout layout) {
  int rank = int(shape.size());
  Placement at{std::vector<int64_t>(rank)};
  std::vector<int> order = memoryOrder(rank, layout);
  int64_t step = layout == Layout::scattered ? 3 : 1;
  for (int d = rank - 1; d >= 0; --d) {
    at.strides[order[d]] = step;
    step *= std::max<int64_t>(shape[order[d]], 1);
    if (layout == Layout::padded)
      step += 5;
  }
  if (layout == Layout::padded)
    at.first += 3;
  at.total = at.first + step + kRedzone;
  if (layout == Layout::reversed)
    for (int d = 0; d < rank; ++d) {
      at.first += at.strides[d] * std::max<int64_t>(shape[d] - 1, 0);
      at.strides[d] = -at.strides[d];
    }
  return at;
}

} // namespace

std::string_view toString(Layout layout) {
  constexpr std::string_view names[] = {"contiguous", "permuted", "padded", "scattered", "reversed"};
  return names[int(layout)];
}

TestTensor::TestTensor(DType dtype, std::vector<int64_t> shape, Layout layout, Poison poison)
    : dtype_(dtype), shape_(std::move(shape)), poison_(poison) {
  Placement at = place(shape_, layout);
  memory_ = MirroredMemory((size_t(at.total) * sizeOf(dtype) + 3) / 4, uint32_t(poison));
  first_ = at.first;
  strides_ = std::move(at.strides);
}

TestTensor::TestTensor(DType dtype, std::vector<int64_t> shape, Layout layout, Poison poison,
                       const std::vector<float> &numbers)
    : TestTensor(dtype, std::move(shape), layout, poison) {
  std::byte *memory = memory_.host();
  for (size_t n = 0; n < count(); ++n)
    tools::encode(&numbers[n], 1, dtype_, memory + offset(n));
}

TestTensor::TestTensor(DType dtype, std::vector<int64_t> shape, Layout layout, Poison poison,
                       std::span<const std::byte> bits)
    : TestTensor(dtype, std::move(shape), layout, poison) {
  std::byte *memory = memory_.host();
  const size_t size = sizeOf(dtype_);
  for (size_t n = 0; n < count(); ++n)
    std::memcpy(memory + offset(n), &bits[n * size], size);
}

TestTensor::TestTensor(std::vector<int64_t> shape, Layout layout, Poison poison, const std::vector<int32_t> &numbers)
    : TestTensor(i32, std::move(shape), layout, poison, std::as_bytes(std::span(numbers))) {}

TensorRef TestTensor::ref() const {
  TensorRef ref{memory_.device() + first_ * int64_t(sizeOf(dtype_)), dtype_, int(shape_.size())};
  std::copy(shape_.begin(), shape_.end(), ref.shape);
  std::copy(strides_.begin(), strides_.end(), ref.strides);
  return ref;
}

TensorRef TestTensor::broadcastAlong(int axis) const {
  TensorRef broadcast = ref();
  broadcast.strides[axis] = 0;
  return broadcast;
}

size_t TestTensor::count() const {
  size_t count = 1;
  for (int64_t size : shape_)
    count *= size_t(size);
  return count;
}

int64_t TestTensor::offset(size_t place) const {
  int64_t offset = first_;
  for (int d = int(shape_.size()) - 1; d >= 0; --d) {
    offset += int64_t(place % shape_[d]) * strides_[d];
    place /= shape_[d];
  }
  return offset * int64_t(sizeOf(dtype_));
}

std::vector<float> TestTensor::numbers() const {
  const std::byte *memory = memory_.host();
  std::vector<float> numbers(count());
  for (size_t n = 0; n < numbers.size(); ++n)
    tools::decode(memory + offset(n), 1, dtype_, &numbers[n]);
  return numbers;
}

std::vector<std::byte> TestTensor::bits() const {
  const std::byte *memory = memory_.host();
  size_t size = sizeOf(dtype_);
  std::vector<std::byte> bits(count() * size);
  for (size_t n = 0; n < count(); ++n)
    std::memcpy(&bits[n * size], memory + offset(n), size);
  return bits;
}

void TestTensor::fill(float number) {
  std::byte *memory = memory_.host();
  for (size_t n = 0; n < count(); ++n)
    tools::encode(&number, 1, dtype_, memory + offset(n));
}

void TestTensor::poison() {
  std::byte *memory = memory_.host();
  for (size_t n = 0; n < memory_.words(); ++n)
    std::memcpy(memory + 4 * n, &poison_, 4);
}

bool TestTensor::surroundingsIntact() const {
  const std::byte *memory = memory_.host();
  std::vector<std::byte> clean(memory, memory + 4 * memory_.words());
  for (size_t n = 0; n < count(); ++n) {
    int64_t at = offset(n);
    uint32_t pattern[2] = {uint32_t(poison_), uint32_t(poison_)};
    std::memcpy(&clean[size_t(at)], reinterpret_cast<std::byte *>(pattern) + at % 4, sizeOf(dtype_));
  }
  for (size_t n = 0; n < memory_.words(); ++n)
    if (std::memcmp(&clean[4 * n], &poison_, 4) != 0)
      return false;
  return true;
}

} // namespace tegula::testing
