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

  int64_t size() const;
  std::vector<int64_t> shape() const;
};

/// Contiguous, uninitialised.
Expected<DeviceTensor> allocateTensor(Device &device, DType dtype, const std::vector<int64_t> &shape);
/// Rounds `values` to the tensor's element type, those of an i32 tensor towards 0.
Status upload(Device &device, const std::vector<float> &values, const DeviceTensor &tensor);
/// N(0, 1), decided by `seed`. Large tensors repeat their numbers.
Status fillWithNormalNumbers(Device &device, const DeviceTensor &tensor, uint64_t seed);
Expected<std::vector<float>> download(Device &device, const DeviceTensor &tensor);

} // namespace tegula::tools
