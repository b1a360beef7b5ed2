// SPDX-License-Identifier: MIT
#include "workload/elements.h"

#include "oracle/convert.h"

#include <algorithm>
#include <cstdint>

#include <vector>

namespace tegula::tools {
namespace {

/// Calls visit(element) with a value of the C++ type of an integer type. Returns false for other types.
template <class Visit> bool withInteger(DType dtype, Visit visit) {
  if (dtype == i64)
    visit(int64_t());
  else if (dtype == i32)
    visit(int32_t());
  else if (dtype == i8)
    visit(int8_t());
  else
    return false;
  return true;
}

} // namespace

void encode(const float *numbers, size_t count, DType dtype, void *memory) {
  const auto copy = [&]<class T>(T) { std::copy_n(numbers, count, static_cast<T *>(memory)); };
  if (!withInteger(dtype, copy))
    oracle::encode(numbers, count, dtype, memory);
}

void decode(const void *memory, size_t count, DType dtype, float *numbers) {
  const auto copy = [&]<class T>(T) {
    std::transform(static_cast<const T *>(memory), static_cast<const T *>(memory) + count, numbers,
                   [](T number) { return float(number); });
  };
  if (!withInteger(dtype, copy))
    oracle::decode(memory, count, dtype, numbers);
}

void encode(const double *numbers, size_t count, DType dtype, void *memory) {
  const auto copy = [&]<class T>(T) { std::copy_n(numbers, count, static_cast<T *>(memory)); };
  if (withInteger(dtype, copy))
    return;
  const std::vector<float> narrow(numbers, numbers + count);
  encode(narrow.data(), count, dtype, memory);
}

void decode(const void *memory, size_t count, DType dtype, double *numbers) {
  const auto copy = [&]<class T>(T) { std::copy_n(static_cast<const T *>(memory), count, numbers); };
  if (withInteger(dtype, copy))
    return;
  std::vector<float> narrow(count);
  decode(memory, count, dtype, narrow.data());
  std::ranges::copy(narrow, numbers);
}

} // namespace tegula::tools
