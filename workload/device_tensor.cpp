// SPDX-License-Identifier: MIT
#include "workload/device_tensor.h"

#include "oracle/inputs.h"
#include "workload/elements.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

namespace tegula::tools {
namespace {

/// Calls visit(byte in memory, byte among the elements alone, how many) for each row.
template <class Visit> void forEachRow(const DeviceTensor &tensor, Visit visit) {
  if (tensor.size() == 0)
    return;
  const TensorRef &view = tensor.view;
  const int64_t element = int64_t(sizeOf(view.dtype)), row = view.shape[view.rank - 1] * element;
  const int64_t pitch = view.rank > 1 ? view.strides[view.rank - 2] * element : row;
  const int64_t first = static_cast<const char *>(view.data) - static_cast<const char *>(tensor.memory.data());
  for (int64_t i = 0; i * row < tensor.size() * element; ++i)
    visit(size_t(first + i * pitch), size_t(i * row), size_t(row));
}

std::string gibibytes(double bytes) {
  std::string digits = std::to_string(bytes / (1 << 30));
  return digits.substr(0, digits.find('.') + 2) + " GiB";
}

bool hasGaps(const DeviceTensor &tensor) {
  return tensor.memory.bytes() != tensor.size() * int64_t(sizeOf(tensor.view.dtype));
}

} // namespace

int64_t DeviceTensor::size() const {
  return view.rank == 0 ? 0 : std::accumulate(view.shape, view.shape + view.rank, int64_t{1}, std::multiplies());
}

std::vector<int64_t> DeviceTensor::shape() const { return {view.shape, view.shape + view.rank}; }

Expected<DeviceTensor> allocateTensor(Device &device, DType dtype, const std::vector<int64_t> &shape, int64_t row_gap) {
  const int64_t before = shape.size() == 1 ? row_gap * int64_t(sizeOf(dtype)) : 0; // In bytes.
  std::vector<int64_t> rows = shape;
  rows.back() += shape.size() == 1 ? 0 : row_gap;
  Expected<TensorRef> view = contiguous(nullptr, dtype, rows);
  if (!view)
    return view.status();
  view->shape[view->rank - 1] = shape.back();
  Expected<ByteExtent> extent = byteExtent(*view);
  if (!extent)
    return extent.status();
  Expected<Buffer> memory = device.allocate(before + extent->highest);
  if (!memory)
    return memory.status();
  view->data = static_cast<char *>(memory->data()) + before;
  return DeviceTensor{std::move(*memory), *view};
}

Status checkThatTensorsFit(double bytes, const Device &device) {
  Expected<MemoryInfo> memory = device.memory();
  if (!memory || bytes <= double(memory->available_bytes))
    return {};
  return {ErrorCode::resource_exhausted, "the tensors take " + gibibytes(bytes) + ", but only " +
                                             gibibytes(double(memory->available_bytes)) +
                                             " are available: lower the batch, the heads or the sequence lengths"};
}

Status uploadElements(Device &device, std::span<const char> elements, const DeviceTensor &tensor) {
  std::vector<char> bytes(size_t(tensor.memory.bytes()), '\xff');
  forEachRow(tensor, [&](size_t at, size_t from, size_t count) { std::memcpy(&bytes[at], &elements[from], count); });
  TEGULA_RETURN_IF_ERROR(device.copyToDevice(tensor.memory.data(), bytes.data(), tensor.memory.bytes()));
  return device.synchronize();
}

Expected<std::vector<char>> downloadElements(Device &device, const DeviceTensor &tensor) {
  std::vector<char> bytes(size_t(tensor.memory.bytes()));
  TEGULA_RETURN_IF_ERROR(device.copyToHost(bytes.data(), tensor.memory.data(), tensor.memory.bytes()));
  TEGULA_RETURN_IF_ERROR(device.synchronize());
  std::vector<char> elements(size_t(tensor.size()) * sizeOf(tensor.view.dtype));
  forEachRow(tensor, [&](size_t at, size_t to, size_t count) { std::memcpy(&elements[to], &bytes[at], count); });
  return elements;
}

Status upload(Device &device, const std::vector<float> &values, const DeviceTensor &tensor) {
  std::vector<char> elements(values.size() * sizeOf(tensor.view.dtype));
  encode(values.data(), values.size(), tensor.view.dtype, elements.data());
  return uploadElements(device, elements, tensor);
}

Status upload(Device &device, std::span<const int32_t> numbers, const DeviceTensor &tensor) {
  return uploadElements(device, {reinterpret_cast<const char *>(numbers.data()), numbers.size_bytes()}, tensor);
}

Status spoil(Device &device, const DeviceTensor &tensor) {
  return upload(device, std::vector(size_t(tensor.size()), std::numeric_limits<float>::quiet_NaN()), tensor);
}

Status fillWithNormalNumbers(Device &device, const DeviceTensor &tensor, uint64_t seed) {
  constexpr int64_t most = 1000003; // A prime: repetitions are not aligned to rows.
  DType dtype = tensor.view.dtype;
  std::vector<float> values = oracle::normalNumbers(std::min(tensor.size(), most), dtype, seed);
  if (hasGaps(tensor)) {
    std::vector<float> all(size_t(tensor.size()));
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = values[i % values.size()];
    return upload(device, all, tensor);
  }
  std::vector<char> bytes(values.size() * sizeOf(dtype));
  encode(values.data(), values.size(), dtype, bytes.data());
  int64_t step = int64_t(bytes.size());
  for (int64_t done = 0; done < tensor.memory.bytes(); done += step)
    TEGULA_RETURN_IF_ERROR(device.copyToDevice(static_cast<char *>(tensor.memory.data()) + done, bytes.data(),
                                               std::min(step, tensor.memory.bytes() - done)));
  return device.synchronize();
}

Expected<std::vector<float>> download(Device &device, const DeviceTensor &tensor) {
  Expected<std::vector<char>> elements = downloadElements(device, tensor);
  if (!elements)
    return elements.status();
  std::vector<float> values(size_t(tensor.size()));
  decode(elements->data(), values.size(), tensor.view.dtype, values.data());
  return values;
}

} // namespace tegula::tools
