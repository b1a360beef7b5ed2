// SPDX-License-Identifier: MIT
#include "plan/programs.h"

#include <gtest/gtest.h>

namespace tegula {
namespace {

TunedConfigurations tuned() {
  TunedConfigurations all;
  all.add({"matmul", "class", {{"m", 1000}, {"n", 1000}}, "small"});
  all.add({"matmul", "class", {{"m", 4096}, {"n", 4096}}, "large"});
  return all;
}

TEST(TunedConfigurations, ServeNearSizes) {
  EXPECT_EQ(*tuned().find("matmul", "class", {{"m", 1024}, {"n", 600}}), "small");
  EXPECT_EQ(*tuned().find("matmul", "class", {{"m", 3000}, {"n", 8192}}), "large");
}

TEST(TunedConfigurations, TheNearestCounts) {
  EXPECT_EQ(*tuned().find("matmul", "class", {{"m", 2048}, {"n", 2000}}), "small"); // Equally near: the smaller one.
  EXPECT_EQ(*tuned().find("matmul", "class", {{"m", 2049}, {"n", 2000}}), "large");
}

TEST(TunedConfigurations, OfTwoThatAreEquallyNearTheSmallerCountsWhateverTheOrder) {
  TunedConfigurations reversed;
  reversed.add({"matmul", "class", {{"n", 4096}, {"m", 4096}}, "large"});
  reversed.add({"matmul", "class", {{"m", 1000}, {"n", 1000}}, "small"});
  EXPECT_EQ(*reversed.find("matmul", "class", {{"m", 2048}, {"n", 2000}}), "small");
}

TEST(TunedConfigurations, SizesThatAreGuessedMayBeFarAway) {
  EXPECT_FALSE(tuned().find("matmul", "class", {{"m", 2048}, {"n", 64}}));
  EXPECT_EQ(*tuned().find("matmul", "class", {{"m", 2048}, {"n", 64}}, {"n"}), "small");
  EXPECT_EQ(*tuned().find("matmul", "class", {{"m", 2048}, {"n", 65536}}, {"n"}), "large") << "the nearest counts";
  EXPECT_FALSE(tuned().find("matmul", "class", {{"m", 64}, {"n", 1024}}, {"n"}));
}

TEST(TunedConfigurations, ServeNothingElse) {
  EXPECT_FALSE(tuned().find("matmul", "class", {{"m", 64}, {"n", 1024}}));
  EXPECT_FALSE(tuned().find("matmul", "class", {{"m", 1024}}));
  EXPECT_FALSE(tuned().find("matmul", "other class", {{"m", 1024}, {"n", 1024}}));
  EXPECT_FALSE(tuned().find("softmax", "class", {{"m", 1024}, {"n", 1024}}));
}

TEST(TuningClass, IsThatOfTheProgram) {
  const std::string one = *tuningClass(testing::matmul().kernels().front());
  EXPECT_EQ(*tuningClass(testing::matmul().kernels().front()), one);
  EXPECT_NE(*tuningClass(testing::splitSum().kernels().front()), one);
  EXPECT_NE(*tuningClass(KernelSpec(testing::matmul().kernels().front()).grid(7)), one);
}

} // namespace
} // namespace tegula
