// SPDX-License-Identifier: MIT
// The work that attention's speed is compared with.
#pragma once

#include "bench/attention/measure.h"
#include "workload/device_tensor.h"

namespace tegula::bench {

/// TFLOP/s of a product of two matrices of size x size, with f32 accumulators, written in the tile language.
Expected<double> matrixProductSpeed(const Machine &machine, DType dtype, int64_t size);
/// The same by cuBLAS. Returns unsupported where there is none.
Expected<double> cublasSpeed(const Machine &machine, DType dtype, int64_t size);
/// GB/s, bytes read and bytes written together, of a copy within the device's memory. All cores of a host copy.
Expected<double> copySpeed(Device &device);

/// Three matrices of size x size: two operands and a result.
Expected<std::vector<tools::DeviceTensor>> randomMatrices(Device &device, DType dtype, int64_t size);
inline double productFlops(int64_t size) { return 2 * double(size) * double(size) * double(size); }

} // namespace tegula::bench
