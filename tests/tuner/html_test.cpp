// SPDX-License-Identifier: MIT
// Tests the pictures of tunings: what they say, and that every candidate is in them.
#include "example_tuning.h"
#include "tegula/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(TuningHtml, SaysWhatAndWhereAndInWhichUnit) {
  EXPECT_THAT(toHtml(test::exampleTuning()),
              AllOf(HasSubstr("<title>flash2_forward (flash2 bf16 64 128 "),
                    HasSubstr("seqlen_q=1000 seqlen_k=3000</h1>"), HasSubstr("a GPU / model 3, CUDA 13.0"),
                    HasSubstr("milliseconds of a launch, median"), HasSubstr("<span>2.5 ms or more</span>"),
                    HasSubstr("<span>1.25 ms</span>")));
}

TEST(TuningHtml, AxesAreTheFirstFieldsThatDiffer) {
  const std::string page = toHtml(test::exampleTuning());
  EXPECT_THAT(page, HasSubstr("colspan=\"3\">block_n</th>"));
  EXPECT_THAT(page, HasSubstr("<tr><th class=\"axis\">block_m</th><th scope=\"col\">left out</th><th scope=\"col\">64"
                              "</th><th scope=\"col\">96</th></tr>"));
  EXPECT_THAT(page, HasSubstr("<caption>num_warps=8</caption>"));
}

TEST(TuningHtml, ARoughTimeIsToldFromAMeasuredOne) {
  const std::string page = toHtml(test::exampleTuning());
  EXPECT_THAT(page, HasSubstr("block_m=64 block_n=64: beaten, 3 samples\">~2.5</td>"));
  EXPECT_THAT(page, HasSubstr("block_m=128 block_n=96 num_warps=8: finalist, 36 samples\">1.25</td>"));
  EXPECT_THAT(page, HasSubstr("block_m=32: faulted: &quot;SIGSEGV&quot; &lt;&amp;&gt;\">faulted</td>"));
}

TEST(TuningHtml, ProgramsHaveTheNamesOfTheirFiles) {
  const Schedule none;
  Tuning tuning;
  tuning.kernel = "matmul";
  tuning.candidates = {
      {.schedule = none, .state = CandidateState::finalist, .ms = 2, .samples = 24, .tunables = {{"program", 7}}},
      {.schedule = none, .state = CandidateState::beaten, .ms = 3, .samples = 1, .tunables = {{"program", 5}}}};
  tuning.best = 0;
  tuning.programs = {{.name = "small.mlir", .value = 5}, {.name = "large.mlir", .value = 7}};
  EXPECT_THAT(toHtml(tuning), AllOf(HasSubstr(">program</th>"), HasSubstr("<th scope=\"row\">small.mlir</th>"),
                                    HasSubstr("<th scope=\"row\">large.mlir</th>"), Not(HasSubstr("program=7"))));
  EXPECT_THAT(toTable(tuning), AllOf(HasSubstr("large.mlir  <- chosen"), HasSubstr("  beaten     small.mlir\n")));
}

TEST(TuningHtml, ASearchWithoutCandidatesHasAPage) {
  EXPECT_THAT(toHtml(Tuning()), AllOf(HasSubstr("</html>"), Not(HasSubstr("class=\"scale\""))));
}

} // namespace
} // namespace tegula
