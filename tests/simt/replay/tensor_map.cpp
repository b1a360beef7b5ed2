// SPDX-License-Identifier: MIT
#include "replay/tensor_map.h"

#include "cuda_context.h"

#include <algorithm>
#include <cstring>
#include <sstream>

namespace tegula::test {
namespace {

using namespace cuda;

CUtensorMapDataType typeOf(const SimtTensorMap &map) {
  if (map.element_bytes == 1)
    return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  return map.element_bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
}

CUtensorMapSwizzle swizzleOf(const SimtTensorMap &map) {
  switch (map.swizzle) {
  case 32:
    return CU_TENSOR_MAP_SWIZZLE_32B;
  case 64:
    return CU_TENSOR_MAP_SWIZZLE_64B;
  case 128:
    return CU_TENSOR_MAP_SWIZZLE_128B;
  default:
    return CU_TENSOR_MAP_SWIZZLE_NONE;
  }
}

std::string describe(const SimtTensorMap &map, uint64_t address) {
  std::ostringstream text;
  const auto list = [&](const char *name, const auto *values, uint32_t count) {
    text << ", " << name;
    for (uint32_t i = 0; i < count; ++i)
      text << " " << values[i];
  };
  text << "address 0x" << std::hex << address << std::dec << ", element bytes " << map.element_bytes << ", rank "
       << map.rank;
  list("sizes", map.size, map.rank);
  list("strides", map.stride, map.rank - 1);
  list("box", map.box, map.rank);
  text << ", swizzle " << map.swizzle;
  return text.str();
}

} // namespace

Status encodeTensorMap(Device &gpu, const SimtTensorMap &map, uint64_t address, void *encoded) {
  Expected<std::shared_ptr<Context>> context = contextOf(gpu);
  if (!context)
    return context.status();
  const unsigned steps[] = {1, 1, 1, 1, 1};
  unsigned long long sizes[5], strides[4];
  std::copy(std::begin(map.size), std::end(map.size), sizes);
  std::copy(std::begin(map.stride), std::end(map.stride), strides);
  CUtensorMap result;
  // The driver requires a current context.
  const Status status =
      (*context)->run("cuTensorMapEncodeTiled", ErrorCode::invalid_argument, [&](const Driver &driver) {
        return driver.cuTensorMapEncodeTiled == nullptr
                   ? CUDA_ERROR_NOT_FOUND
                   : driver.cuTensorMapEncodeTiled(&result, typeOf(map), map.rank, reinterpret_cast<void *>(address),
                                                   sizes, strides, map.box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                                   swizzleOf(map), CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
      });
  if (!status.ok())
    return {status.code(), status.message() + ": " + describe(map, address)};
  std::memcpy(encoded, &result, sizeof result);
  return {};
}

} // namespace tegula::test
