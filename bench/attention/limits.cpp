// SPDX-License-Identifier: MIT
#include "bench/attention/limits.h"

#include <utility>

#include <fmt/format.h>

namespace tegula::bench {

Expected<std::vector<tools::DeviceTensor>> randomMatrices(Device &device, DType dtype, int64_t size) {
  std::vector<tools::DeviceTensor> matrices;
  for (uint64_t n = 0; n < 3; ++n) {
    Expected<tools::DeviceTensor> matrix = tools::allocateTensor(device, dtype, {size, size});
    if (!matrix)
      return matrix.status();
    TEGULA_RETURN_IF_ERROR(fillWithNormalNumbers(device, *matrix, n));
    matrices.push_back(std::move(*matrix));
  }
  return matrices;
}

std::vector<MachineLimit> measureCeilings(const Machine &machine, DType dtype) {
  bool gpu = machine.device->target().name == "cuda";
  int64_t size = gpu ? 8192 : 512;
  std::vector<MachineLimit> limits;
  auto add = [&](std::string name, const Expected<double> &value, const char *unit) {
    if (value)
      limits.push_back({std::move(name), *value, unit});
  };
  add(fmt::format("matrix product {}^3, cuBLAS", size), cublasSpeed(machine, dtype, size), "TFLOP/s");
  add(fmt::format("matrix product {}^3, Tegula", size), matrixProductSpeed(machine, dtype, size), "TFLOP/s");
  add("copy in memory", copySpeed(*machine.device), "GB/s");
  return limits;
}

} // namespace tegula::bench
