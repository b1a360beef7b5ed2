// SPDX-License-Identifier: MIT
// Tensors as TMA addresses them.
#pragma once

#include "tegula/artifact.h"
#include "tegula/tensor.h"

#include <array>
#include <cstdint>
#include <optional>

namespace tegula {

/// Dimensions from the innermost on.
struct MappedTensor {
  unsigned rank = 0;
  std::array<uint64_t, kMaxRank> sizes{};
  std::array<uint64_t, kMaxRank> strides{}; ///< In bytes, of the second dimension and those after it.
  std::array<uint32_t, kMaxRank> box{};
};

/// Nothing where TMA cannot: its addresses are multiples of 16 bytes, and rows are contiguous.
std::optional<MappedTensor> mapTensor(const TensorMap &map, const TensorRef &tensor) noexcept;

/// Returns invalid_argument unless the artifact's tensor maps are of its parameters.
Status checkTensorMaps(const Artifact &artifact);

} // namespace tegula
