// SPDX-License-Identifier: MIT
// Tensors in a device's memory, filled from and read as bytes of elements or f32.
#pragma once

#include "tegula/device.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tegula::tools {

struct DeviceTensor {
  Buffer memory;
  TensorRef view;

  int64_t size() const; ///< In elements; 0 if it was not allocated.
  std::vector<int64_t> shape() const;
};

/// The most elements between two rows that options and plans may ask for.
inline constexpr int64_t kMaxRowGap = 1 << 16;
/// A gap after which rows do not start at multiples of 16 bytes, whatever the element type. TMA and wide copies cannot
/// address them.
inline constexpr int64_t kUnalignedGap = 3;

/// Makes an uninitialised tensor of at least one dimension. It is contiguous, except for `row_gap` elements between
/// rows, the last dimension. A tensor of one dimension has no second row, so the gap comes before its only row.
Expected<DeviceTensor> allocateTensor(Device &device, DType dtype, const std::vector<int64_t> &shape,
                                      int64_t row_gap = 0);
/// Returns an error that says which sizes to lower if `bytes` of tensors do not fit into the device's memory.
Status checkThatTensorsFit(double bytes, const Device &device);
/// Copies a tensor's elements in C order to the device. The gaps get bytes of 0xff.
Status uploadElements(Device &device, std::span<const char> elements, const DeviceTensor &tensor);
/// Returns the bytes of a tensor's elements in C order.
Expected<std::vector<char>> downloadElements(Device &device, const DeviceTensor &tensor);
/// Rounds `values` to the tensor's element type, those of an i32 tensor towards 0, and uploads them.
Status upload(Device &device, const std::vector<float> &values, const DeviceTensor &tensor);
/// Uploads the elements of an i32 tensor.
Status upload(Device &device, std::span<const int32_t> numbers, const DeviceTensor &tensor);
/// Fills a tensor of floats with NaN.
Status spoil(Device &device, const DeviceTensor &tensor);
/// N(0, 1), decided by `seed`. Large tensors repeat their numbers.
Status fillWithNormalNumbers(Device &device, const DeviceTensor &tensor, uint64_t seed);
Expected<std::vector<float>> download(Device &device, const DeviceTensor &tensor);

} // namespace tegula::tools
