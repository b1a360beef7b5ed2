// SPDX-License-Identifier: MIT
#include "lengths.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace tegula::tools {

std::string inWords(const std::vector<int32_t> &lengths, std::string_view what) {
  const auto [least, most] = std::ranges::minmax(lengths);
  const std::string sequences = fmt::format("{} sequence{} of", lengths.size(), lengths.size() == 1 ? "" : "s");
  if (least == most)
    return fmt::format("{} {} {}", sequences, most, what);
  return fmt::format("{} {} to {} {}, {} in all", sequences, least, most, what,
                     std::accumulate(lengths.begin(), lengths.end(), int64_t{0}));
}

} // namespace tegula::tools
