// SPDX-License-Identifier: MIT
// The parts of the random test that the compiler does not check: bounds, and programs from choices.
#include "random/build.h"
#include "random/generate.h"
#include "random/interpret.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tegula::random_programs {
namespace {

TEST(Interval, RoundsToTheNearestNumberAndTiesToEven) {
  EXPECT_EQ(rounded(bf16, 1 + 0x1p-8), 1);
  EXPECT_EQ(rounded(bf16, 1 + 0x3p-8), 1 + 0x1p-6);
  EXPECT_EQ(rounded(bf16, -1 - 0x1.1p-8), -1 - 0x1p-7);
  EXPECT_EQ(rounded(f16, 1 + 0x1p-11), 1);
  EXPECT_EQ(rounded(f16, 0x1p-25), 0);
  EXPECT_EQ(rounded(f16, 0x1.8p-24), 0x1p-23);
  EXPECT_EQ(rounded(f16, 65519), 65504);
  EXPECT_EQ(rounded(f16, 65520), INFINITY);
  EXPECT_EQ(rounded(e4m3, 1 + 0x1p-4), 1);
  EXPECT_EQ(rounded(e4m3, -1 - 0x3p-4), -1.25);
  EXPECT_EQ(rounded(e4m3, 0x1p-10), 0);
  EXPECT_EQ(rounded(e4m3, 0x1.8p-9), 0x1p-8);
  EXPECT_EQ(rounded(e4m3, -1e30), -448);
  EXPECT_EQ(rounded(e4m3, INFINITY), 448);
}

TEST(Interval, StaysUnknownInATypeWithoutInfinity) {
  EXPECT_TRUE(cast(e4m3, {-INFINITY, INFINITY}).isUnknown()); // It may be NaN.
  EXPECT_EQ(cast(e4m3, {-INFINITY, 1}).lo, -448);
}

TEST(Interval, IsExactWhereF32Is) {
  const Interval x = Interval{0.25, 0.25} * Interval{3, 3} + Interval{1, 1};
  EXPECT_EQ(x.lo, 1.75);
  EXPECT_EQ(x.hi, 1.75);
}

TEST(Interval, ContainsTheRealAndTheRoundedResult) {
  const Interval third = Interval{1, 1} / Interval{3, 3};
  EXPECT_LT(third.lo, 1.0 / 3);
  EXPECT_GT(third.hi, 1.0 / 3);
  EXPECT_TRUE(third.contains(double(1.0f / 3)));
  EXPECT_LT(third.hi - third.lo, 0x1p-22);
}

TEST(Sum, IsExactIfNoOrderOfAdditionsRounds) {
  Sum sum;
  for (int i = 0; i < 64; ++i)
    sum.addProduct({0.75, 0.75}, {-0.25, -0.25});
  EXPECT_EQ(sum.total().lo, -12);
  EXPECT_EQ(sum.total().hi, -12);
}

TEST(Sum, AllowsTheErrorOfItsSignificantBits) {
  Sum exact(14), rounded(14), wide;
  exact.add({0x1p13 - 1, 0x1p13 - 1});
  EXPECT_TRUE(exact.total().isExact());
  for (Sum *sum : {&rounded, &wide}) {
    sum->add({0x1p14, 0x1p14});
    sum->add({1, 1});
  }
  EXPECT_TRUE(rounded.total().contains(0x1p14));
  EXPECT_FALSE(wide.total().contains(0x1p14));
}

TEST(Sum, ContainsTheResultOfEachOrder) {
  Sum sum;
  float forwards = 0, backwards = 0;
  for (int i = 0; i < 100; ++i) {
    sum.add({double(1.0f / float(i + 1)), double(1.0f / float(i + 1))});
    forwards += 1.0f / float(i + 1);
    backwards += 1.0f / float(100 - i);
  }
  EXPECT_TRUE(sum.total().contains(forwards));
  EXPECT_TRUE(sum.total().contains(backwards));
  EXPECT_LT(sum.total().hi - sum.total().lo, 0.001);
}

TEST(Generator, RepeatsAProgramFromItsChoices) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Choices first(seed);
    const std::string text = toText(generate(first));
    Choices again(parseChoices(toText(first.drawn())));
    EXPECT_EQ(toText(generate(again)), text);
  }
}

TEST(Generator, MakesALegalProgramFromAnyChoices) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Choices whole(seed);
    generate(whole);
    std::vector<uint32_t> numbers = whole.drawn();
    numbers.erase(numbers.begin() + ptrdiff_t(seed % numbers.size()));
    numbers.resize(numbers.size() / 2);
    Choices half(numbers);
    const Expected<Program> program = build(generate(half));
    EXPECT_TRUE(program.ok()) << program.status().message();
  }
}

} // namespace
} // namespace tegula::random_programs
