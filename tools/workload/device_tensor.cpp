// SPDX-License-Identifier: MIT
#include "workload/device_tensor.h"

#include "oracle/convert.h"
#include "oracle/inputs.h"

#include <algorithm>
#include <utility>

namespace tegula::tools {

int64_t DeviceTensor::size() const { return memory.bytes() / int64_t(sizeOf(view.dtype)); }

std::vector<int64_t> DeviceTensor::shape() const { return {view.shape, view.shape + view.rank}; }

Expected<DeviceTensor> allocateTensor(Device &device, DType dtype, const std::vector<int64_t> &shape) {
  Expected<TensorRef> view = contiguous(nullptr, dtype, shape);
  if (!view)
    return view.status();
  Expected<ByteExtent> extent = byteExtent(*view);
  if (!extent)
    return extent.status();
  Expected<Buffer> memory = device.allocate(extent->highest);
  if (!memory)
    return memory.status();
  view->data = memory->data();
  return DeviceTensor{std::move(*memory), *view};
}

Status upload(Device &device, const std::vector<float> &values, const DeviceTensor &tensor) {
  std::vector<char> bytes(size_t(tensor.memory.bytes()));
  if (tensor.view.dtype == i32)
    std::copy(values.begin(), values.end(), reinterpret_cast<int32_t *>(bytes.data()));
  else
    oracle::encode(values.data(), values.size(), tensor.view.dtype, bytes.data());
  TEGULA_RETURN_IF_ERROR(device.copyToDevice(tensor.memory.data(), bytes.data(), tensor.memory.bytes()));
  return device.synchronize();
}

Status fillWithNormalNumbers(Device &device, const DeviceTensor &tensor, uint64_t seed) {
  constexpr int64_t most = 1000003; // A prime: repetitions are not aligned to rows.
  DType dtype = tensor.view.dtype;
  std::vector<float> values = oracle::normalNumbers(std::min(tensor.size(), most), dtype, seed);
  std::vector<char> bytes(values.size() * sizeOf(dtype));
  oracle::encode(values.data(), values.size(), dtype, bytes.data());
  int64_t step = int64_t(bytes.size());
  for (int64_t done = 0; done < tensor.memory.bytes(); done += step)
    TEGULA_RETURN_IF_ERROR(device.copyToDevice(static_cast<char *>(tensor.memory.data()) + done, bytes.data(),
                                               std::min(step, tensor.memory.bytes() - done)));
  return device.synchronize();
}

Expected<std::vector<float>> download(Device &device, const DeviceTensor &tensor) {
  std::vector<char> bytes(size_t(tensor.memory.bytes()));
  TEGULA_RETURN_IF_ERROR(device.copyToHost(bytes.data(), tensor.memory.data(), tensor.memory.bytes()));
  TEGULA_RETURN_IF_ERROR(device.synchronize());
  std::vector<float> values(size_t(tensor.size()));
  oracle::decode(bytes.data(), values.size(), tensor.view.dtype, values.data());
  return values;
}

} // namespace tegula::tools
