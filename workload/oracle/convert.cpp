// SPDX-License-Identifier: MIT
#include "oracle/convert.h"

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace tegula::oracle {
namespace {

/// The elements of a type, and how to convert them.
template <class Bits, Bits (*To)(float), float (*From)(Bits), int RoundoffExponent> struct Elements {
  static constexpr double unitRoundoff() { return 1.0 / (int64_t{1} << RoundoffExponent); }
  static float rounded(float x) { return From(To(x)); }
  static void encode(const float *numbers, size_t count, void *memory) {
    std::transform(numbers, numbers + count, static_cast<Bits *>(memory), To);
  }
  static void decode(const void *memory, size_t count, float *numbers) {
    const auto *bits = static_cast<const Bits *>(memory);
    std::transform(bits, bits + count, numbers, From);
  }
};

float same(float x) { return x; }

/// Returns visit(elements) with the elements of a type of floats.
template <class Visit> auto withElements(DType dtype, Visit visit) {
  switch (dtype) {
  case f16:
    return visit(Elements<uint16_t, toF16, fromF16, 11>());
  case bf16:
    return visit(Elements<uint16_t, toBf16, fromBf16, 8>());
  case e4m3:
    return visit(Elements<uint8_t, toE4m3, fromE4m3, 4>());
  default:
    assert(dtype == f32 && "a type of integers");
    return visit(Elements<float, same, same, 24>());
  }
}

} // namespace

float rounded(float x, DType dtype) {
  return withElements(dtype, [&](auto elements) { return elements.rounded(x); });
}

double unitRoundoff(DType dtype) {
  return withElements(dtype, [](auto elements) { return elements.unitRoundoff(); });
}

void encode(const float *numbers, size_t count, DType dtype, void *memory) {
  withElements(dtype, [&](auto elements) { elements.encode(numbers, count, memory); });
}

void decode(const void *memory, size_t count, DType dtype, float *numbers) {
  withElements(dtype, [&](auto elements) { elements.decode(memory, count, numbers); });
}

} // namespace tegula::oracle
