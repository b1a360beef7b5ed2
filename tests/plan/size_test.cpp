// SPDX-License-Identifier: MIT
#include "tegula/size.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace tegula {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();

const Size m("m"), n("n");

int64_t valueOf(const Size &size) { return *evaluate(size, {{"m", 300}, {"n", 7}}); }

TEST(Size, ComputesAsCppDoes) {
  EXPECT_EQ(valueOf(m + n * 2 - 4), 310);
  EXPECT_EQ(valueOf(m / n), 42);
  EXPECT_EQ(valueOf(m % n), 6);
  EXPECT_EQ(valueOf(ceilDiv(m, 128)), 3);
  EXPECT_EQ(valueOf(ceilDiv(Size(256), 128)), 2);
  EXPECT_EQ(valueOf(max(1, min(m, n))), 7);
  EXPECT_EQ(valueOf(select(m > n, m, n)), 300);
  EXPECT_EQ(valueOf((m == 300) & (n != 7)), 0);
  EXPECT_EQ(valueOf((m == 300) | (n != 7)), 1);
  EXPECT_EQ(valueOf((m <= 300) + (n < 7) + (m >= 301)), 1);
}

TEST(Size, StaysInside64Bits) {
  EXPECT_EQ(valueOf(Size(kMost) + 1), kMost);
  EXPECT_EQ(valueOf(Size(kMost) * kMost * 0), 0);
  EXPECT_EQ(valueOf(Size(kLeast) * 2), kLeast);
  EXPECT_EQ(valueOf(Size(kLeast) / -1), kMost);
  EXPECT_EQ(valueOf(m / 0), 0);
  EXPECT_EQ(valueOf(m % 0), 0);
  EXPECT_EQ(valueOf(ceilDiv(m, 0)), 0);
}

TEST(Size, NamesWhatItDoesNotKnow) {
  EXPECT_EQ(evaluate(m + Size("heads"), {{"m", 1}}).status().message(), "the size 'heads' is not known");
}

TEST(Size, IsSpeltAsCpp) {
  EXPECT_EQ(toString(ceilDiv(m, 128) * n), "ceildiv(m, 128) * n");
  EXPECT_EQ(toString((m + 1) * (n - (m - 2))), "(m + 1) * (n - (m - 2))");
  EXPECT_EQ(toString(select((m > 1) & (n <= 2), m / n % 3, 0)), "select(m > 1 & n <= 2, m / n % 3, 0)");
}

TEST(Size, IsReadAsItIsSpelt) {
  for (const char *text : {"ceildiv(q.2, 64)", "m - (n - 1) - 2", "select(m == 1 | n != 2, max(m, 1), min(n, 2))",
                           "(m + 1) * -3 % 4", "m < n & n >= 2"}) {
    Expected<Size> size = parseSize(text);
    ASSERT_TRUE(size.ok()) << size.status().message();
    EXPECT_EQ(toString(*size), text);
  }
}

/// Returns a random expression of m and n.
Size randomSize(std::mt19937 &random, int depth) {
  if (depth == 0)
    return random() % 2 ? Size(random() % 2 ? "m" : "n") : Size(int(random() % 9) - 4);
  const Size a = randomSize(random, depth - 1), b = randomSize(random, depth - 1);
  const Size all[] = {a * b, a / b, a % b,         a + b,     a - b,     a<b, a <= b, a> b,  a >= b, a == b, a != b,
                      a & b, a | b, ceilDiv(a, b), min(a, b), max(a, b), select(a, b, a - b)};
  return all[random() % std::size(all)];
}

TEST(Size, RandomExpressionsSurviveTheText) {
  std::mt19937 random(1);
  for (int n = 0; n < 2000; ++n) {
    const Size size = randomSize(random, int(random() % 5));
    Expected<Size> again = parseSize(toString(size));
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(again->terms(), size.terms()) << toString(size);
    EXPECT_EQ(valueOf(*again), valueOf(size)) << toString(size);
  }
}

TEST(Size, ErrorsSayWhere) {
  EXPECT_EQ(parseSize("m +").status().message(),
            "'m +': expected a number or a name at character 4; legal are numbers, names, + - * / % < <= > >= == != & "
            "|, ceildiv, min, max and select");
  EXPECT_TRUE(
      parseSize("ceildiv(m)")
          .status()
          .message()
          .starts_with("'ceildiv(m)': expected the operands of ceildiv, of which there are 2 at character 10;"));
  EXPECT_FALSE(parseSize("m n").ok());
  EXPECT_FALSE(parseSize("(m").ok());
  EXPECT_FALSE(parseSize("").ok());
  EXPECT_FALSE(parseSize(std::string(100000, '(')).ok());
  EXPECT_FALSE(parseSize("99999999999999999999").ok());
}

TEST(Size, NumbersTakeThePlaceOfNames) {
  EXPECT_EQ(toString(substituted(ceilDiv(m, Size("block_m")) * n, {{"block_m", 64}})), "ceildiv(m, 64) * n");
}

} // namespace
} // namespace tegula
