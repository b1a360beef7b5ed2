// SPDX-License-Identifier: MIT
#include "tensor_map.h"

#include "checks.h"

#include <algorithm>
#include <string>

namespace tegula {
namespace {

constexpr uint64_t kUnit = 16; ///< Alignment of addresses, in bytes.
constexpr uint64_t kStrideLimit = 1ull << 40;
constexpr int kMaxBox = 256;
constexpr uint64_t kRowLimit = uint64_t{1} << 30; ///< Rows of a tensor, for a map whose rows end inside it.

/// Returns true if the driver makes maps with such boxes: rows are whole units, and not wider than the swizzle.
bool isLegalBox(const TensorMap &map, int rank) {
  const bool sizesFit =
      std::all_of(map.box.begin(), map.box.end(), [](int size) { return size >= 1 && size <= kMaxBox; });
  if (map.box.empty() || map.box.size() > static_cast<size_t>(rank) || !sizesFit)
    return false;
  const uint64_t rowBytes = static_cast<uint64_t>(map.box.front()) * sizeOf(map.dtype);
  const bool isSwizzle = map.swizzle == 32 || map.swizzle == 64 || map.swizzle == 128;
  return rowBytes % kUnit == 0 && (map.swizzle == 0 || (isSwizzle && rowBytes <= static_cast<uint64_t>(map.swizzle)));
}

std::string boxText(const TensorMap &map) {
  std::string text;
  for (const int size : map.box)
    text = std::to_string(size) + (text.empty() ? "" : " x ") + text;
  return text;
}

/// Takes a dimension out of the map, so that rows count through it, too: the first or second one outside the rows.
/// Returns false if its elements are not whole rows apart.
bool joinRows(MappedTensor &mapped, int number) {
  const int dim = 1 + number;
  const uint64_t row = mapped.strides[0], step = mapped.strides[dim - 1];
  if (row == 0 || step % row != 0 || mapped.sizes[dim] > kRowLimit || step / row > kRowLimit)
    return false;
  mapped.sizes[1] += (mapped.sizes[dim] - 1) * (step / row);
  std::copy(mapped.sizes.begin() + dim + 1, mapped.sizes.begin() + mapped.rank, mapped.sizes.begin() + dim);
  std::copy(mapped.strides.begin() + dim, mapped.strides.begin() + mapped.rank - 1, mapped.strides.begin() + dim - 1);
  --mapped.rank;
  return true;
}

/// Adds two dimensions after the rows, by which a box names its first row and an end (docs/design/tma.md). Returns
/// false if the tensor is too large.
bool endInside(MappedTensor &mapped) {
  constexpr uint64_t wrap = uint64_t{1} << 34; // kRowLimit times this is 2^64, which is 0 for TMA.
  const uint64_t rows = mapped.sizes[1], stride = mapped.strides[0];
  if (rows >= kRowLimit || stride >= wrap)
    return false;
  std::copy_backward(mapped.sizes.begin() + 2, mapped.sizes.begin() + mapped.rank,
                     mapped.sizes.begin() + mapped.rank + 2);
  std::copy_backward(mapped.strides.begin() + 1, mapped.strides.begin() + mapped.rank - 1,
                     mapped.strides.begin() + mapped.rank + 1);
  mapped.sizes[1] = kRowLimit;
  mapped.sizes[2] = rows + 1;
  mapped.sizes[3] = kRowLimit + 1;
  mapped.strides[1] = stride;
  mapped.strides[2] = wrap - stride;
  mapped.box[mapped.rank] = mapped.box[mapped.rank + 1] = 1;
  mapped.rank += 2;
  return true;
}

Status checkTensorMap(const Artifact &artifact, const TensorMap &map) {
  const bool exists = map.parameter >= 0 && static_cast<size_t>(map.parameter) < artifact.parameters.size();
  const Parameter parameter = exists ? artifact.parameters[map.parameter] : Parameter();
  const size_t bytes = sizeOf(map.dtype);
  if (!exists || parameter.kind != Parameter::Kind::tensor || bytes > 4 || sizeOf(parameter.dtype) != bytes)
    return invalid("a tensor map is of parameter " + std::to_string(map.parameter) + ", which is no tensor with " +
                   "elements of 1, 2 or 4 bytes like " + std::string(toString(map.dtype)));
  const bool isJoined = map.joined != 0;
  if (map.joined < 0 || map.joined > 2)
    return invalid("a tensor map joins dimension " + std::to_string(map.joined) + " to its rows; legal are 0 to 2");
  const int least = 2 + map.joined, most = kMaxRank - 2 + isJoined;
  if ((map.ends_inside || isJoined) && (parameter.rank < least || parameter.rank > most))
    return invalid("a tensor map with " + std::string(isJoined ? "a joined dimension" : "an end inside") +
                   " is of a tensor of rank " + std::to_string(parameter.rank) + "; legal are " +
                   std::to_string(least) + " to " + std::to_string(most));
  if (!isLegalBox(map, parameter.rank) || map.columns < 1)
    return invalid("a tensor map has boxes of " + boxText(map) + " with a swizzle of " + std::to_string(map.swizzle) +
                   " in " + std::to_string(map.columns) + " columns");
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
  std::copy(map.box.begin(), map.box.end(), mapped.box.begin());
  if (map.joined != 0 && !joinRows(mapped, map.joined))
    return std::nullopt;
  if (map.ends_inside && !endInside(mapped))
    return std::nullopt;
  return mapped;
}

Status checkTensorMaps(const Artifact &artifact) {
  for (const TensorMap &map : artifact.tensor_maps)
    if (Status status = checkTensorMap(artifact, map); !status.ok())
      return status;
  return {};
}

} // namespace tegula
