// SPDX-License-Identifier: MIT
#include "harness/test_tensor.h"

#include "oracle/convert.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tegula::testing {
namespace {

constexpr int64_t kRedzone = 256; // elements

/// Dimensions from the outermost to the innermost in memory.
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
  int64_t first = kRedzone; // place of element 0
  int64_t total = 0;        // elements of memory
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
  memory_.assign((at.total * sizeOf(dtype) + 3) / 4, uint32_t(poison));
  ref_ = {reinterpret_cast<std::byte *>(memory_.data()) + at.first * sizeOf(dtype), dtype, int(shape_.size())};
  std::copy(shape_.begin(), shape_.end(), ref_.shape);
  std::copy(at.strides.begin(), at.strides.end(), ref_.strides);
}

TestTensor::TestTensor(DType dtype, std::vector<int64_t> shape, Layout layout, Poison poison,
                       const std::vector<float> &numbers)
    : TestTensor(dtype, std::move(shape), layout, poison) {
  for (size_t n = 0; n < count(); ++n)
    oracle::encode(&numbers[n], 1, dtype_, element(n));
}

TestTensor::TestTensor(std::vector<int64_t> shape, Layout layout, Poison poison, const std::vector<int32_t> &numbers)
    : TestTensor(i32, std::move(shape), layout, poison) {
  for (size_t n = 0; n < count(); ++n)
    std::memcpy(element(n), &numbers[n], sizeof(int32_t));
}

TensorRef TestTensor::broadcastAlong(int axis) const {
  TensorRef ref = ref_;
  ref.strides[axis] = 0;
  return ref;
}

size_t TestTensor::count() const {
  size_t count = 1;
  for (int64_t size : shape_)
    count *= size_t(size);
  return count;
}

std::byte *TestTensor::element(size_t place) const {
  int64_t offset = 0;
  for (int d = int(shape_.size()) - 1; d >= 0; --d) {
    offset += int64_t(place % shape_[d]) * ref_.strides[d];
    place /= shape_[d];
  }
  return static_cast<std::byte *>(ref_.data) + offset * int64_t(sizeOf(dtype_));
}

std::vector<float> TestTensor::numbers() const {
  std::vector<float> numbers(count());
  for (size_t n = 0; n < numbers.size(); ++n)
    oracle::decode(element(n), 1, dtype_, &numbers[n]);
  return numbers;
}

std::vector<std::byte> TestTensor::bits() const {
  size_t size = sizeOf(dtype_);
  std::vector<std::byte> bits(count() * size);
  for (size_t n = 0; n < count(); ++n)
    std::memcpy(&bits[n * size], element(n), size);
  return bits;
}

void TestTensor::fill(float number) {
  for (size_t n = 0; n < count(); ++n)
    oracle::encode(&number, 1, dtype_, element(n));
}

void TestTensor::poison() { std::fill(memory_.begin(), memory_.end(), uint32_t(poison_)); }

bool TestTensor::surroundingsIntact() const {
  std::vector<uint32_t> clean = memory_;
  auto start = reinterpret_cast<const std::byte *>(memory_.data());
  for (size_t n = 0; n < count(); ++n) {
    size_t offset = size_t(element(n) - start);
    uint32_t pattern[2] = {uint32_t(poison_), uint32_t(poison_)};
    std::memcpy(reinterpret_cast<std::byte *>(clean.data()) + offset,
                reinterpret_cast<std::byte *>(pattern) + offset % 4, sizeOf(dtype_));
  }
  return std::all_of(clean.begin(), clean.end(), [&](uint32_t word) { return word == uint32_t(poison_); });
}

} // namespace tegula::testing
