// SPDX-License-Identifier: MIT
#include "simt/map_check.h"

#include <algorithm>
#include <iterator>

namespace tegula::simt {
namespace {

constexpr uint64_t kUnit = 16, kMaxElements = uint64_t{1} << 32, kStrideLimit = uint64_t{1} << 40;
constexpr uint32_t kMaxRank = 5, kMaxBox = 256;

std::string problemOfStrides(const SimtTensorMap &map) {
  if (map.address % kUnit != 0)
    return "an address that is no multiple of 16";
  for (uint32_t d = 1; d < map.rank; ++d)
    if (map.stride[d - 1] % kUnit != 0 || map.stride[d - 1] >= kStrideLimit)
      return "a stride of " + std::to_string(map.stride[d - 1]) + " bytes; legal are multiples of 16 below 2^40";
  return "";
}

std::string problemOfSizes(const SimtTensorMap &map) {
  for (uint32_t d = 0; d < map.rank; ++d) {
    if (map.size[d] < 1 || map.size[d] > kMaxElements)
      return "a size of " + std::to_string(map.size[d]) + "; legal are 1 to 2^32";
    if (map.box[d] < 1 || map.box[d] > kMaxBox)
      return "a box of " + std::to_string(map.box[d]) + " elements in a dimension; legal are 1 to 256";
  }
  return "";
}

std::string problemOfRows(const SimtTensorMap &map) {
  constexpr uint32_t swizzles[] = {0, 32, 64, 128};
  const uint32_t bytes = map.box[0] * map.element_bytes;
  if (bytes % kUnit != 0)
    return "boxes with rows of " + std::to_string(bytes) + " bytes; legal are multiples of 16";
  if (std::find(std::begin(swizzles), std::end(swizzles), map.swizzle) == std::end(swizzles))
    return "a swizzle of " + std::to_string(map.swizzle) + "; legal are 0, 32, 64 and 128";
  if (map.swizzle != 0 && bytes > map.swizzle)
    return "boxes with rows of " + std::to_string(bytes) + " bytes; legal are at most the " +
           std::to_string(map.swizzle) + " of the swizzle";
  return "";
}

} // namespace

std::string problemOf(const SimtTensorMap &map) {
  if (map.rank < 1 || map.rank > kMaxRank)
    return std::to_string(map.rank) + " dimensions; legal are 1 to 5";
  for (const auto &problem : {problemOfStrides, problemOfSizes, problemOfRows})
    if (std::string text = problem(map); !text.empty())
      return text;
  return "";
}

} // namespace tegula::simt
