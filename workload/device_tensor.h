// SPDX-License-Identifier: MIT
// Tensors in a device's memory, filled from and read as f32.
#pragma once

#include "tegula/device.h"

#include <cstdint>
#include <vector>

namespace tegula::tools {

struct DeviceTensor {
  Buffer memory;
  TensorRef view;

  int64_t size() const; ///< In elements; 0 if it was not allocated.
  std::vector<int64_t> shape() const;
};

/// Uninitialised, of at least one dimension; contiguous but for `row_gap` elements between rows, the last dimension.
Expected<DeviceTensor> allocateTensor(Device &device, DType dtype, const std::vector<int64_t> &shape,
                                      int64_t row_gap = 0);
/// Rounds `values` to the tensor's element type, those of an i32 tensor towards 0. Between rows come bytes of 0xff.
Status upload(Device &device, const std::vector<float> &values, const DeviceTensor &tensor);
/// N(0, 1), decided by `seed`. Large tensors repeat their numbers.
Status fillWithNormalNumbers(Device &device, const DeviceTensor &tensor, uint64_t seed);
Expected<std::vector<float>> download(Device &device, const DeviceTensor &tensor);

} // namespace tegula::tools
