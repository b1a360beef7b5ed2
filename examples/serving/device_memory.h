// SPDX-License-Identifier: MIT
// Tensors in the memory of a device, in C order. Errors end the program.
#pragma once

#include "tegula/convert.h"
#include "tegula/device.h"
#include "tegula/tensor.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

template <class T> T valueOf(tegula::Expected<T> value) {
  if (value)
    return std::move(*value);
  std::fprintf(stderr, "%s\n", value.status().message().c_str());
  std::exit(EXIT_FAILURE);
}

inline void require(const tegula::Status &status) {
  if (!status.ok())
    valueOf(tegula::Expected<int>(status));
}

struct Array {
  tegula::Buffer memory;
  tegula::TensorRef ref;
};

inline Array allocate(tegula::Device &device, tegula::DType dtype, const std::vector<int64_t> &shape) {
  tegula::TensorRef ref = valueOf(tegula::contiguous(nullptr, dtype, shape));
  tegula::Buffer memory = valueOf(device.allocate(valueOf(tegula::numel(ref)) * int64_t(tegula::sizeOf(dtype))));
  ref.data = memory.data();
  return {std::move(memory), ref};
}

/// Copies elements of a type to the device.
template <class T>
Array upload(tegula::Device &device, tegula::DType dtype, const std::vector<T> &elements,
             const std::vector<int64_t> &shape) {
  Array array = allocate(device, dtype, shape);
  require(device.copyToDevice(array.ref.data, elements.data(), array.memory.bytes()));
  require(device.synchronize());
  return array;
}

/// Copies numbers to the device, as f32 or bf16.
inline Array uploadNumbers(tegula::Device &device, tegula::DType dtype, const std::vector<float> &numbers,
                           const std::vector<int64_t> &shape) {
  if (dtype == tegula::f32)
    return upload(device, dtype, numbers, shape);
  std::vector<uint16_t> elements(numbers.size());
  std::ranges::transform(numbers, elements.begin(), tegula::toBf16);
  return upload(device, dtype, elements, shape);
}

/// Returns the numbers of an array in f32 or bf16.
inline std::vector<float> download(tegula::Device &device, const Array &array) {
  std::vector<float> numbers(size_t(valueOf(tegula::numel(array.ref))));
  std::vector<uint16_t> elements(numbers.size());
  const bool isF32 = array.ref.dtype == tegula::f32;
  require(device.copyToHost(isF32 ? static_cast<void *>(numbers.data()) : elements.data(), array.ref.data,
                            array.memory.bytes()));
  require(device.synchronize());
  if (!isF32)
    std::ranges::transform(elements, numbers.begin(), tegula::fromBf16);
  return numbers;
}
