// SPDX-License-Identifier: MIT
#include "tensors.h"

#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <array>
#include <limits>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tegula_torch {
namespace {

using torch::headeronly::ScalarType;

constexpr size_t kMaxRank = 5;

int32_t typeOf(const char *name, const Tensor &tensor) {
  switch (tensor.scalar_type()) {
  case ScalarType::Float:
    return TEGULA_F32;
  case ScalarType::Half:
    return TEGULA_F16;
  case ScalarType::BFloat16:
    return TEGULA_BF16;
  case ScalarType::Float8_e4m3fn:
    return TEGULA_E4M3;
  case ScalarType::Long:
    return TEGULA_I64;
  case ScalarType::Int:
    return TEGULA_I32;
  case ScalarType::Bool:
  case ScalarType::Byte:
  case ScalarType::Char:
    return TEGULA_I8;
  default:
    throw std::runtime_error("argument '" + std::string(name) +
                             "': its type is not float32, float16, bfloat16, float8_e4m3fn, int64, int32, "
                             "int8 or bool");
  }
}

} // namespace

tegula_tensor view(const char *name, const Tensor &tensor) {
  const auto sizes = tensor.sizes(), strides = tensor.strides();
  if (sizes.size() > kMaxRank)
    throw std::runtime_error("argument '" + std::string(name) + "': it has " + std::to_string(sizes.size()) +
                             " dimensions; it may have 5");
  tegula_tensor result{tensor.data_ptr(), typeOf(name, tensor), int32_t(sizes.size()), {}, {}};
  std::copy(sizes.begin(), sizes.end(), result.shape);
  std::copy(strides.begin(), strides.end(), result.strides);
  return result;
}

tegula_tensor view(const char *name, const std::optional<Tensor> &tensor) {
  return tensor ? view(name, *tensor) : tegula_tensor{};
}

Tensor emptyStrided(const Tensor &like, std::span<const int64_t> sizes, std::span<const int64_t> strides,
                    ScalarType type) {
  const auto device = like.device();
  AtenTensorHandle handle = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(
      int64_t(sizes.size()), sizes.data(), strides.data(),
      torch::stable::detail::to<int32_t>(torch::stable::detail::from(type)),
      torch::stable::detail::to<int32_t>(torch::stable::detail::from(device.type())), device.index(), &handle));
  return Tensor(handle);
}

Tensor empty(const Tensor &like, std::span<const int64_t> sizes, ScalarType type) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t axis = sizes.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * std::max<int64_t>(sizes[axis], 1);
  return emptyStrided(like, sizes, strides, type);
}

Tensor emptyOrderedAs(const Tensor &like, std::span<const int64_t> sizes) {
  const auto given = like.strides();
  // An axis without a distance of its own comes first. Of two axes with one distance, one has the size 1, and comes
  // last.
  const auto distance = [&](int axis) {
    return std::pair(given[axis] == 0 ? std::numeric_limits<int64_t>::max() : given[axis], sizes[axis]);
  };
  std::array<int, 3> order{0, 1, 2};
  std::ranges::stable_sort(order, std::ranges::greater(), distance);
  std::array<int64_t, 4> strides{0, 0, 0, 1};
  int64_t stride = sizes[3];
  for (const int axis : std::views::reverse(order)) {
    strides[axis] = stride;
    stride *= sizes[axis];
  }
  return emptyStrided(like, sizes, strides, like.scalar_type());
}

} // namespace tegula_torch
