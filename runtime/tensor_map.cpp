// SPDX-License-Identifier: MIT
#include "tensor_map.h"

#include "checks.h"

#include <algorithm>
#include <string>

namespace tegula {
namespace {

constexpr uint64_t kUnit = 16; ///< Alignment of addresses, in bytes.
constexpr uint64_t kStrideLimit = 1ull << 40;
constexpr uint32_t kBoxColumns = 64; ///< Columns of 16-bit elements in a swizzle of 128 bytes.
constexpr int kMaxBoxRows = 256;

Status checkTensorMap(const Artifact &artifact, const TensorMap &map) {
  const bool exists = map.parameter >= 0 && static_cast<size_t>(map.parameter) < artifact.parameters.size();
  const Parameter parameter = exists ? artifact.parameters[map.parameter] : Parameter();
  if (!exists || parameter.kind != Parameter::Kind::tensor || parameter.rank < 2 || sizeOf(parameter.dtype) != 2)
    return invalid("a tensor map is of parameter " + std::to_string(map.parameter) +
                   ", which is no matrix of 16-bit elements");
  if (map.box_rows < 1 || map.box_rows > kMaxBoxRows || map.columns < 1)
    return invalid("a tensor map has boxes of " + std::to_string(map.box_rows) + " rows in " +
                   std::to_string(map.columns) + " columns");
  return {};
}

} // namespace

std::optional<MappedTensor> mapTensor(const TensorMap &map, const TensorRef &tensor) noexcept {
  if (tensor.strides[tensor.rank - 1] != 1 || reinterpret_cast<uintptr_t>(tensor.data) % kUnit != 0)
    return std::nullopt;
  MappedTensor mapped{.rank = static_cast<unsigned>(tensor.rank)};
  for (unsigned i = 0; i < mapped.rank; ++i) {
    const unsigned dim = mapped.rank - 1 - i;
    if (tensor.shape[dim] < 1)
      return std::nullopt;
    mapped.sizes[i] = static_cast<uint64_t>(tensor.shape[dim]);
    mapped.box[i] = 1;
    if (i == 0)
      continue;
    const uint64_t bytes = static_cast<uint64_t>(tensor.strides[dim]) * sizeOf(tensor.dtype);
    if (tensor.strides[dim] < 0 || bytes % kUnit != 0 || bytes >= kStrideLimit)
      return std::nullopt;
    mapped.strides[i - 1] = bytes;
  }
  mapped.sizes[0] = std::min(mapped.sizes[0], static_cast<uint64_t>(map.columns));
  mapped.box[0] = kBoxColumns;
  mapped.box[1] = static_cast<uint32_t>(map.box_rows);
  return mapped;
}

Status checkTensorMaps(const Artifact &artifact) {
  for (const TensorMap &map : artifact.tensor_maps)
    if (Status status = checkTensorMap(artifact, map); !status.ok())
      return status;
  return {};
}

} // namespace tegula
