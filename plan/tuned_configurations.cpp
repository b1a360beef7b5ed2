// SPDX-License-Identifier: MIT
#include "tegula/tuned_configurations.h"

#include <algorithm>
#include <bit>
#include <compare>
#include <cstdlib>

namespace tegula {
namespace {

/// The most doublings between a size that was tuned and a size that uses the result.
constexpr int kNear = 1;

using Names = std::initializer_list<std::string_view>;

/// Returns the exponent of the power of two that a size is rounded up to; 0 for a size of 0.
int exponentOf(int64_t size) { return size <= 0 ? 0 : std::bit_width(static_cast<uint64_t>(size) - 1) + 1; }

/// The place of tuned sizes among those that are near. The least one counts.
struct Rank {
  int doublings = 0;               ///< Over all sizes.
  std::vector<int> exponents = {}; ///< In the order of the expected sizes.

  auto operator<=>(const Rank &) const = default;
};

/// Returns the rank of tuned sizes; nothing if one is not expected, or too far away.
std::optional<Rank> rankOf(const Sizes &tuned, const Sizes &expected, Names guessed) {
  Rank rank;
  for (const NamedSize &size : expected) {
    const auto found = std::ranges::find(tuned, size.name, &NamedSize::name);
    if (found == tuned.end())
      continue;
    const int exponent = exponentOf(found->value), doublings = std::abs(exponent - exponentOf(size.value));
    if (doublings > kNear && std::ranges::find(guessed, size.name) == guessed.end())
      return std::nullopt;
    rank.doublings += doublings;
    rank.exponents.push_back(exponent);
  }
  return rank.exponents.size() == tuned.size() ? std::optional(std::move(rank)) : std::nullopt;
}

} // namespace

std::optional<std::string> TunedConfigurations::find(std::string_view kernel, std::string_view kernel_class,
                                                     const Sizes &expected, Names guessed) const {
  const TunedConfiguration *best = nullptr;
  std::optional<Rank> least;
  for (const TunedConfiguration &tuned : all_) {
    if (tuned.kernel != kernel || tuned.kernel_class != kernel_class)
      continue;
    std::optional<Rank> rank = rankOf(tuned.sizes, expected, guessed);
    if (rank && (best == nullptr || *rank < *least)) {
      best = &tuned;
      least = std::move(rank);
    }
  }
  return best != nullptr ? std::optional(best->text) : std::nullopt;
}

} // namespace tegula
