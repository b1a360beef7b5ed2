// SPDX-License-Identifier: MIT
#include "workload/elements.h"

#include "oracle/convert.h"

#include <algorithm>
#include <cstdint>

namespace tegula::tools {

void encode(const float *numbers, size_t count, DType dtype, void *memory) {
  if (dtype == i32)
    std::copy_n(numbers, count, static_cast<int32_t *>(memory));
  else
    oracle::encode(numbers, count, dtype, memory);
}

void decode(const void *memory, size_t count, DType dtype, float *numbers) {
  if (dtype == i32)
    std::transform(static_cast<const int32_t *>(memory), static_cast<const int32_t *>(memory) + count, numbers,
                   [](int32_t number) { return float(number); });
  else
    oracle::decode(memory, count, dtype, numbers);
}

} // namespace tegula::tools
