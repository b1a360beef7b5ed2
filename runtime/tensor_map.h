// SPDX-License-Identifier: MIT
// Tensors in the form in which TMA addresses them.
#pragma once

#include "tegula/artifact.h"
#include "tegula/tensor.h"

#include <array>
#include <cstdint>
#include <optional>

namespace tegula {

/// A tensor and a box of it. Dimension 0 is the innermost.
struct MappedTensor {
  unsigned rank = 0;
  std::array<uint64_t, kMaxRank> sizes{};
  std::array<uint64_t, kMaxRank> strides{}; ///< In bytes. The first one is of dimension 1.
  std::array<uint32_t, kMaxRank> box{};
};

/// Returns nothing if TMA cannot address the tensor. Addresses must be multiples of 16 bytes, and rows contiguous.
std::optional<MappedTensor> mapTensor(const TensorMap &map, const TensorRef &tensor) noexcept;

/// Returns invalid_argument unless the artifact's tensor maps are of its parameters.
Status checkTensorMaps(const Artifact &artifact);

} // namespace tegula
