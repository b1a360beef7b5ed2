// SPDX-License-Identifier: MIT
// Every synchronisation of a kernel is needed, or docs/benchmarks.md says why it is there: of a kernel of each kind;
// the report next to this file tries all that ship.
#include "mutants/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula::testing {
namespace {

using ::testing::IsEmpty;

SweptKernel small(std::string_view program, Schedule schedule) {
  return {.target = "simt",
          .program = program,
          .problem = {.dtype = bf16, .head_dim = 16, .value_dim = 16, .causal = Causal::bottom_right},
          .schedule = schedule};
}

/// With a producer; 64 columns are a panel.
SweptKernel withRoles(Schedule schedule) {
  schedule.block_m = schedule.block_n = 64;
  schedule.num_warps = 4;
  schedule.num_stages = schedule.num_roles = 2;
  SweptKernel kernel = small("flash2_forward", schedule);
  kernel.target = "simt:sm_90a";
  kernel.problem.head_dim = kernel.problem.value_dim = 64;
  return kernel;
}

void expectExplained(const SweptKernel &kernel) {
  Expected<Sweep> result = sweep(kernel);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_GT(result->mutants, 5);
  EXPECT_THAT(unexplained(kernel, *result), IsEmpty());
}

constexpr Schedule kSmall{.block_m = 32, .block_n = 32, .num_warps = 2, .num_stages = 2};

TEST(Mutants, OfTheForwardPass) { expectExplained(small("flash2_forward", kSmall)); }

TEST(Mutants, OfTheBackwardPass) {
  SweptKernel kernel = small("flash2_backward", kSmall);
  kernel.problem.dtype = f32;
  kernel.problem.backward = true;
  expectExplained(kernel);
}

TEST(Mutants, OfTheOlderAlgorithms) {
  for (std::string_view program : {"flash1_forward", "standard_output"}) {
    SweptKernel kernel = small(program, kSmall);
    kernel.problem.algorithm = program == "flash1_forward" ? Algorithm::flash1 : Algorithm::standard;
    expectExplained(kernel);
  }
}

TEST(Mutants, OfRoles) { expectExplained(withRoles({})); }
TEST(Mutants, OfProductsThatOverlap) { expectExplained(withRoles({.num_products = 2})); }
TEST(Mutants, OfBlocksInTurns) { expectExplained(withRoles({.persistent = 1})); }
TEST(Mutants, OfABiasThroughARing) {
  SweptKernel kernel = withRoles({});
  kernel.variant = "bias";
  expectExplained(kernel);
}

TEST(Mutants, ThatAreNotExplainedAreNamed) {
  const Sweep found{.schedule = {.num_roles = 2},
                    .mutants = 9,
                    .survivors = {"flash2_forward:7:weaken (mbarrier.arrive at f.cpp:1)",
                                  "flash2_forward:8:weaken (mbarrier.arrive at f.cpp:2)",
                                  "flash2_forward:9 (wgmma.fence at f.cpp:3)"}};
  EXPECT_THAT(unexplained(withRoles({}), found), ::testing::ElementsAre(found.survivors[1], found.survivors[2]));
  EXPECT_THAT(unexplained(small("flash2_forward", kSmall), {.schedule = kSmall, .survivors = found.survivors}),
              ::testing::SizeIs(3));
}

} // namespace
} // namespace tegula::testing
