// SPDX-License-Identifier: MIT
// Tensor maps of the CUDA driver, which describe tensors to TMA.
#pragma once

#include "cuda_abi.h"
#include "cuda_context.h"
#include "tegula/kernel.h"

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace tegula::cuda {

inline constexpr size_t kMaxTensorMaps = 16;
inline constexpr size_t kTensorMapWords = sizeof(CUtensorMap) / sizeof(int64_t);

/// Returns invalid_argument if a launch has no room for all tensor maps of the artifact.
Status checkTensorMapCount(const Artifact &artifact);

/// The tensor maps of one kernel's launches. A map is kept for the next launch with the same tensor. Thread-safe.
class TensorMaps {
public:
  TensorMaps(const std::vector<TensorMap> &maps, std::shared_ptr<Context> context)
      : maps_(maps), context_(std::move(context)), made_(maps.empty() ? 0 : kKept) {}

  size_t count() const noexcept { return maps_.size(); }
  /// Writes all maps, kTensorMapWords each, 64-byte aligned. Returns a word with bit i set if map i describes its
  /// tensor. The other maps are 0: TMA cannot have such a stride or address.
  int64_t describe(std::span<const Argument> arguments, int64_t *words);

private:
  /// The values on which a map depends.
  struct Key {
    size_t map = 0;
    const void *data = nullptr;
    std::array<int64_t, kMaxRank> shape{}, strides{};

    bool operator==(const Key &) const = default;
  };
  struct Made {
    Key key;
    CUtensorMap map;
    bool isLegal = false;
  };
  static constexpr size_t kKept = 64; ///< Number of maps that are kept; a power of two.

  static size_t placeOf(const Key &key);

  std::vector<TensorMap> maps_;
  std::shared_ptr<Context> context_; ///< The driver needs a current context.
  std::mutex mutex_;
  std::vector<Made> made_; ///< Indexed by a hash of the key.
};

} // namespace tegula::cuda
