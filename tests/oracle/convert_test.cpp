// SPDX-License-Identifier: MIT
#include "oracle/convert.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace tegula::oracle {
namespace {

template <class To, class From> void everyNumberSurvives(To to, From from) {
  for (uint32_t bits = 0; bits < 65536; ++bits)
    if (float x = from(uint16_t(bits)); std::isnan(x))
      EXPECT_TRUE(std::isnan(from(to(x))));
    else
      EXPECT_EQ(to(x), bits);
}

/// Expects that a number between two neighbours rounds to the nearer one, and the middle to the even one.
template <class To, class From> void neighboursRoundToNearestEven(To to, From from, uint32_t infinity) {
  for (uint32_t low = 0; low + 1 < infinity; ++low) {
    float a = from(uint16_t(low)), b = from(uint16_t(low + 1));
    float middle = a + (b - a) / 2;
    EXPECT_EQ(to(middle), low % 2 ? low + 1 : low);
    EXPECT_EQ(to(std::nextafter(middle, a)), low);
    EXPECT_EQ(to(std::nextafter(middle, b)), low + 1);
    EXPECT_EQ(to(-middle), to(middle) | 0x8000);
  }
}

TEST(Convert, EveryF16NumberSurvives) { everyNumberSurvives(toF16, fromF16); }
TEST(Convert, EveryBf16NumberSurvives) { everyNumberSurvives(toBf16, fromBf16); }
TEST(Convert, F16RoundsToNearestEven) { neighboursRoundToNearestEven(toF16, fromF16, 0x7c00); }
TEST(Convert, Bf16RoundsToNearestEven) { neighboursRoundToNearestEven(toBf16, fromBf16, 0x7f80); }

/// Returns the value of a code by the definition of e4m3.
double valueOfE4m3(uint8_t code) {
  const int exponent = code >> 3 & 0xf, fraction = code & 7;
  const double magnitude = exponent == 0 ? fraction * std::pow(2.0, -9) : (8 + fraction) * std::pow(2.0, exponent - 10);
  return code & 0x80 ? -magnitude : magnitude;
}

TEST(Convert, EachE4m3CodeHasItsValueAndSurvives) {
  for (int code = 0; code < 256; ++code) {
    const float x = fromE4m3(uint8_t(code));
    if ((code & 0x7f) == 0x7f) {
      EXPECT_TRUE(std::isnan(x) && std::isnan(fromE4m3(toE4m3(x))));
      continue;
    }
    EXPECT_EQ(x, valueOfE4m3(uint8_t(code)));
    EXPECT_EQ(std::signbit(x), code >= 0x80);
    EXPECT_EQ(toE4m3(x), code);
  }
}

TEST(Convert, E4m3RoundsToNearestEven) {
  for (uint8_t low = 0; low < 0x7e; ++low) {
    const float a = fromE4m3(low), b = fromE4m3(uint8_t(low + 1)), middle = a + (b - a) / 2;
    EXPECT_EQ(toE4m3(middle), low % 2 ? low + 1 : low);
    EXPECT_EQ(toE4m3(std::nextafter(middle, a)), low);
    EXPECT_EQ(toE4m3(std::nextafter(middle, b)), low + 1);
    EXPECT_EQ(toE4m3(-middle), toE4m3(middle) | 0x80);
  }
}

TEST(Convert, LargeNumbersBecomeTheLargestE4m3) {
  EXPECT_EQ(toE4m3(449), 0x7e);
  EXPECT_EQ(toE4m3(1e30f), 0x7e);
  EXPECT_EQ(toE4m3(-std::numeric_limits<float>::infinity()), 0xfe);
}

TEST(Convert, LargeNumbersBecomeInfinity) {
  EXPECT_EQ(toF16(65519.99f), 0x7bff);
  EXPECT_EQ(toF16(65520.0f), 0x7c00);
  EXPECT_EQ(toF16(-1e30f), 0xfc00);
  EXPECT_EQ(toBf16(std::numeric_limits<float>::max()), 0x7f80);
}

TEST(Convert, TinyNumbersBecomeZeroWithTheirSign) {
  EXPECT_EQ(toF16(0x1p-25f), 0);
  EXPECT_EQ(toF16(-0x1p-26f), 0x8000);
  EXPECT_EQ(toF16(0x1.8p-25f), 1);
}

TEST(Convert, RoundedKeepsF32) {
  EXPECT_EQ(rounded(0.1f, f32), 0.1f);
  EXPECT_EQ(rounded(0.1f, bf16), 0.10009765625f);
  EXPECT_EQ(rounded(0.1f, f16), 0.0999755859375f);
  EXPECT_EQ(rounded(0.1f, e4m3), 0.1015625f);
}

TEST(Convert, DecodeInvertsEncode) {
  const float numbers[] = {1, -2.5f, 0.25f, 256};
  for (DType dtype : {f32, f16, bf16, e4m3}) {
    alignas(4) char memory[16];
    float back[4];
    encode(numbers, 4, dtype, memory);
    decode(memory, 4, dtype, back);
    for (int n = 0; n < 4; ++n)
      EXPECT_EQ(back[n], numbers[n]);
  }
}

} // namespace
} // namespace tegula::oracle
