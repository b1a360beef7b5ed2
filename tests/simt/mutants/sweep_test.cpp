// SPDX-License-Identifier: MIT
// Tests, for one kernel of each kind, that it needs every synchronisation, or that docs/testing.md says why the
// synchronisation is there. The report next to this file tries all shipped kernels.
#include "mutants/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <set>

namespace tegula::testing {

/// Prints a kernel in lists of tests.
static void PrintTo(const SweptKernel &kernel, std::ostream *stream) {
  *stream << kernel.target << " " << kernel.name();
}

namespace {

using ::testing::IsEmpty;

SweptKernel small(std::string_view program, Schedule schedule) {
  return {.target = "simt",
          .program = program,
          .problem = {.dtype = bf16, .head_dim = 16, .value_dim = 16, .causal = Causal::bottom_right},
          .schedule = schedule};
}

/// Returns a kernel with a producer. Its tiles have 64 columns, which are one panel.
SweptKernel withRoles(Schedule schedule) {
  schedule.block_m = schedule.block_n = 64;
  schedule.num_warps = 4;
  schedule.num_stages = 2;
  schedule.roles = Roles::load;
  SweptKernel kernel = small("flash2_forward", schedule);
  kernel.target = "simt:sm_90a";
  kernel.problem.head_dim = kernel.problem.value_dim = 64;
  return kernel;
}

void expectExplained(const SweptKernel &kernel) {
  Expected<Sweep> result = sweep(kernel);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_GT(result->mutants, 5);
  EXPECT_THAT(unexplained(*result), IsEmpty());
}

const Schedule kSmall{.block_m = 32, .block_n = 32, .num_warps = 2, .num_stages = 2};

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
TEST(Mutants, OfProductsThatOverlap) { expectExplained(withRoles({.overlap = Overlap::pingpong})); }
TEST(Mutants, OfStaticBlocks) { expectExplained(withRoles({.tile_scheduler = TileScheduler::static_persistent})); }
TEST(Mutants, OfDynamicBlocks) {
  expectExplained(withRoles({.tile_scheduler = TileScheduler::dynamic_persistent}));
  Schedule withoutRoles = kSmall;
  withoutRoles.tile_scheduler = TileScheduler::dynamic_persistent;
  expectExplained(small("flash2_forward", withoutRoles));
}
TEST(Mutants, OfABiasThroughARing) {
  SweptKernel kernel = withRoles({});
  kernel.variant = "bias";
  expectExplained(kernel);
}

bool isDefault(const SweptKernel &kernel) {
  if (kernel.problem.dtype != bf16 || kernel.problem.causal == Causal::none || !kernel.variant.empty() ||
      (kernel.program != "flash2_forward" && kernel.program != "flash2_backward"))
    return false;
  const Target target = {"simt", kernel.target.substr(kernel.target.find(':') + 1), ""};
  AttentionProblem usual = kernel.problem;
  usual.expected = AttentionProblem().expected;
  Expected<KernelConfig> own = resolve(kernel.problem, kernel.program, target),
                         chosen = resolve(usual, kernel.program, target);
  return own && chosen && own->schedule == chosen->schedule;
}

/// Returns whether the sweep of a kernel is short, or the kernel one of the most used.
bool isSwept(const SweptKernel &kernel) {
  return kernel.target == "simt:sm_80" || (kernel.target == "simt:sm_90a" && kernel.problem.head_dim == 128);
}

/// Returns kernels that bf16 problems with a causal mask get if the caller does not say how long sequences are.
std::vector<SweptKernel> defaultKernels() {
  std::vector<SweptKernel> kernels = sweptKernels();
  std::erase_if(kernels, [](const SweptKernel &kernel) { return !isSwept(kernel) || !isDefault(kernel); });
  return kernels;
}

std::string wordsOf(const SweptKernel &kernel) {
  std::string words = kernel.target + "_" + std::string(kernel.program) + "_" + std::to_string(kernel.problem.head_dim);
  std::ranges::replace(words, ':', '_');
  return words;
}

class DefaultMutants : public ::testing::TestWithParam<SweptKernel> {};
TEST_P(DefaultMutants, AreAllExplained) { expectExplained(GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, DefaultMutants, ::testing::ValuesIn(defaultKernels()),
                         [](const auto &info) { return wordsOf(info.param); });

TEST(Mutants, OfDefaultSchedulesIncludeEachHeadDimensionAndPass) {
  std::set<std::string> words;
  for (const SweptKernel &kernel : defaultKernels())
    words.insert(wordsOf(kernel));
  for (const char *expected :
       {"simt_sm_80_flash2_forward_64", "simt_sm_80_flash2_forward_128", "simt_sm_80_flash2_forward_256",
        "simt_sm_80_flash2_backward_64", "simt_sm_80_flash2_backward_128", "simt_sm_80_flash2_backward_256",
        "simt_sm_90a_flash2_forward_128", "simt_sm_90a_flash2_backward_128"})
    EXPECT_TRUE(words.contains(expected)) << expected;
}

/// Returns a mutant of an instruction that belongs to the line of the forward pass with this text.
std::string mutantAt(const std::string &text, const std::string &kindAndInstruction) {
  for (int number = 1; number < 100; ++number) {
    const std::string mutant =
        "flash2_forward:" + kindAndInstruction + " at kernels/flash2_forward.cpp:" + std::to_string(number) + ")";
    if (sourceLine(mutant).find(text) != std::string::npos)
      return mutant;
  }
  return "";
}

TEST(Mutants, HaveALineOfSource) {
  EXPECT_THAT(sourceLine("flash2_forward:7:weaken (bar.sync at kernels/flash2_forward.cpp:1)"),
              ::testing::HasSubstr("SPDX"));
  for (const char *mutant :
       {"flash2_forward:7", "flash2_forward:7 (bar.sync at kernels/none.cpp:1)", "a (b at kernels/flash2_forward.cpp)"})
    EXPECT_EQ(sourceLine(mutant), "");
}

TEST(Mutants, ThatAreNotExplainedAreNamed) {
  const std::vector<std::string> survivors = {
      mutantAt("Value q =", "7 (mbarrier.arrive"), mutantAt("softmax.update", "8 (wgmma.fence"),
      mutantAt("softmax.update", "9 (wgmma.fence"), mutantAt("Value v =", "10 (wgmma.fence")};
  const Schedule serial{.roles = Roles::load}, overlapping{.roles = Roles::load, .overlap = Overlap::pingpong};
  EXPECT_EQ(unexplained({.schedule = serial, .survivors = survivors}), survivors);
  EXPECT_THAT(unexplained({.schedule = overlapping, .survivors = survivors}),
              ::testing::ElementsAre(survivors[0], survivors[2], survivors[3]));
}

} // namespace
} // namespace tegula::testing
