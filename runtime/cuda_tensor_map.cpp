// SPDX-License-Identifier: MIT
#include "cuda_tensor_map.h"

#include "checks.h"
#include "tensor_map.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

namespace tegula::cuda {
namespace {

/// Returns the type in which TMA copies elements. Types of 16 bits are the same to it.
CUtensorMapDataType typeOf(DType dtype) {
  if (dtype == f32)
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  if (dtype == i32)
    return CU_TENSOR_MAP_DATA_TYPE_INT32;
  return sizeOf(dtype) == 1 ? CU_TENSOR_MAP_DATA_TYPE_UINT8 : CU_TENSOR_MAP_DATA_TYPE_UINT16;
}

CUtensorMapSwizzle swizzleOf(int bytes) {
  if (bytes == 0)
    return CU_TENSOR_MAP_SWIZZLE_NONE;
  if (bytes == 32)
    return CU_TENSOR_MAP_SWIZZLE_32B;
  return bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B : CU_TENSOR_MAP_SWIZZLE_128B;
}

/// Encodes a tensor map. Returns false if the driver cannot describe the tensor.
bool encode(Context &context, const TensorMap &map, const TensorRef &tensor, CUtensorMap &encoded) {
  const std::optional<MappedTensor> mapped = mapTensor(map, tensor);
  if (!mapped)
    return false;
  std::array<unsigned, kMaxRank> steps;
  steps.fill(1);
  std::array<unsigned long long, kMaxRank> sizes, strides;
  std::copy(mapped->sizes.begin(), mapped->sizes.end(), sizes.begin());
  std::copy(mapped->strides.begin(), mapped->strides.end(), strides.begin());
  const Status status = context.run("cuTensorMapEncodeTiled", ErrorCode::invalid_argument, [&](const Driver &driver) {
    return driver.cuTensorMapEncodeTiled == nullptr
               ? CUDA_ERROR_NOT_FOUND
               : driver.cuTensorMapEncodeTiled(&encoded, typeOf(map.dtype), mapped->rank, tensor.data, sizes.data(),
                                               strides.data(), mapped->box.data(), steps.data(),
                                               CU_TENSOR_MAP_INTERLEAVE_NONE, swizzleOf(map.swizzle),
                                               CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  });
  return status.ok();
}

} // namespace

Status checkTensorMapCount(const Artifact &artifact) {
  if (artifact.tensor_maps.size() > kMaxTensorMaps)
    return invalid(std::to_string(artifact.tensor_maps.size()) + " tensor maps; at most " +
                   std::to_string(kMaxTensorMaps) + " are possible");
  return {};
}

size_t TensorMaps::placeOf(const Key &key) {
  uint64_t hash = reinterpret_cast<uintptr_t>(key.data) + key.map;
  for (size_t dim = 0; dim < kMaxRank; ++dim)
    hash = (hash ^ static_cast<uint64_t>(key.shape[dim] + 31 * key.strides[dim])) * 0x9E3779B97F4A7C15;
  return hash >> 32 & (kKept - 1);
}

int64_t TensorMaps::describe(std::span<const Argument> arguments, int64_t *words) {
  int64_t legal = 0;
  for (size_t i = 0; i < maps_.size(); ++i) {
    const TensorRef &tensor = arguments[maps_[i].parameter].tensor();
    Key key{.map = i, .data = tensor.data};
    std::copy_n(tensor.shape, tensor.rank, key.shape.begin());
    std::copy_n(tensor.strides, tensor.rank, key.strides.begin());
    const std::lock_guard lock(mutex_);
    Made &made = made_[placeOf(key)];
    if (!(made.key == key)) {
      made = {.key = key, .map = {}};
      made.isLegal = encode(*context_, maps_[i], tensor, made.map);
    }
    std::memcpy(words + i * kTensorMapWords, &made.map, sizeof made.map);
    legal |= static_cast<int64_t>(made.isLegal) << i;
  }
  return legal;
}

} // namespace tegula::cuda
