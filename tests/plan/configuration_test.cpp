// SPDX-License-Identifier: MIT
#include "plan/programs.h"

#include <gtest/gtest.h>

#include <set>

namespace tegula {
namespace {

const KernelSpec &matmulKernel() {
  static const PlanSpec spec = testing::matmul();
  return spec.kernels().front();
}

TEST(Configuration, IsReadAsItIsSpelt) {
  const Configuration configuration{.tunables = {{"block_m", 64}, {"block_n", 32}}, .schedule = {.num_warps = 8}};
  EXPECT_EQ(toString(configuration), "block_m=64 block_n=32 num_warps=8");
  EXPECT_EQ(*parseConfiguration("block_m=64 block_n=32 num_warps=8", matmulKernel().tunables()), configuration);
  EXPECT_EQ(*parseConfiguration("", matmulKernel().tunables()), Configuration());
}

TEST(Configuration, NamesUnknownWords) {
  const std::string message = parseConfiguration("block_k=64", matmulKernel().tunables()).status().message();
  EXPECT_NE(message.find("block_k"), std::string::npos) << message;
  EXPECT_TRUE(message.ends_with("; the tunables are block_m, block_n")) << message;
  EXPECT_EQ(parseConfiguration("block_m=x", matmulKernel().tunables()).status().message(),
            "'block_m=x' gives the tunable no whole number");
}

TEST(Configuration, ChoosesWhatIsLeftOut) {
  EXPECT_EQ(toString(*matmulKernel().resolved()), "block_m=64 block_n=32");
  EXPECT_EQ(toString(*matmulKernel().resolved({.tunables = {{"block_m", 32}}})), "block_m=32 block_n=32");
}

TEST(Configuration, RefusesWhatIsNotLegal) {
  EXPECT_EQ(matmulKernel().resolved({.tunables = {{"block_n", 64}}}).status().message(),
            "kernel 'matmul' cannot have block_m=64 block_n=64: the accumulator is too large");
  EXPECT_EQ(matmulKernel().resolved({.tunables = {{"block_k", 64}}}).status().message(),
            "kernel 'matmul' has no tunable 'block_k'; it has block_m, block_n");
}

TEST(Configuration, EachLegalOneIsListedOnce) {
  const std::vector<Configuration> cpu = configurationsOf(matmulKernel(), {.name = "cpu"});
  EXPECT_EQ(cpu.size(), 3u); // 2 x 2 without the illegal one.
  EXPECT_EQ(toString(cpu.front()), "block_m=64 block_n=32");
  std::set<std::string> texts;
  for (const Configuration &configuration : configurationsOf(matmulKernel(), {.name = "cuda", .arch = "sm_90a"}))
    EXPECT_TRUE(texts.insert(toString(configuration)).second);
  EXPECT_GT(texts.size(), 3u * 20);
}

TEST(Configuration, TheSpaceOfTheUserReplacesTheUsualOne) {
  const ScheduleSpace box = {ScheduleAxis(&Schedule::num_warps, {2, 4})};
  const KernelSpec kernel = KernelSpec(matmulKernel()).search({box});
  EXPECT_EQ(configurationsOf(kernel, {.name = "cuda", .arch = "sm_90a"}).size(), 3u * 3); // And the compiler's choice.
}

} // namespace
} // namespace tegula
