// SPDX-License-Identifier: MIT
#include "tegula/tuned_configurations.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace tegula {
namespace {

/// The most doublings between a size that was tuned and a size that uses the result.
constexpr int kNear = 1;

/// Returns the exponent of the power of two that a size is rounded up to; 0 for a size of 0.
int exponentOf(int64_t size) { return size <= 0 ? 0 : std::bit_width(static_cast<uint64_t>(size) - 1) + 1; }

/// Returns the number of doublings over all sizes; nothing if one is missing or too far away.
std::optional<int> distance(const Sizes &tuned, const Sizes &expected) {
  int sum = 0;
  for (const NamedSize &size : tuned) {
    const auto found = std::ranges::find(expected, size.name, &NamedSize::name);
    if (found == expected.end())
      return std::nullopt;
    const int doublings = std::abs(exponentOf(size.value) - exponentOf(found->value));
    if (doublings > kNear)
      return std::nullopt;
    sum += doublings;
  }
  return sum;
}

} // namespace

std::optional<std::string> TunedConfigurations::find(std::string_view kernel, std::string_view kernel_class,
                                                     const Sizes &expected) const {
  const TunedConfiguration *best = nullptr;
  int least = 0;
  for (const TunedConfiguration &tuned : all_) {
    if (tuned.kernel != kernel || tuned.kernel_class != kernel_class)
      continue;
    const std::optional<int> far = distance(tuned.sizes, expected);
    if (far && (best == nullptr || *far < least)) {
      best = &tuned;
      least = *far;
    }
  }
  return best != nullptr ? std::optional(best->text) : std::nullopt;
}

} // namespace tegula
