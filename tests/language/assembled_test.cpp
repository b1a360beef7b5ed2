// SPDX-License-Identifier: MIT
// Tests the fences of MMAs in programs that are not attention. mutants_test.cpp names those whose loss no run in the
// executor detects.
#include "bench/products/programs.h"
#include "compiler/client/InProcessCompiler.h"
#include "language/hopper_programs.h"
#include "sass/fences.h"
#include "sass/sass.h"
#include "support/missing_tool.h"

#include <gmock/gmock.h>

namespace tegula::language {
namespace {

using ::testing::ElementsAre;
using testing::FenceLoss;

std::string ptxOf(const Expected<Program> &program, const Schedule &schedule = {}) {
  EXPECT_TRUE(program.ok()) << program.status().message();
  Expected<Artifact> artifact =
      makeInProcessCompiler()->compile({program->text, schedule, {"cuda", "sm_90a", ""}, "ptx"});
  EXPECT_TRUE(artifact.ok()) << artifact.status().message();
  return artifact ? artifact->text : "";
}

class Fences : public ::testing::Test {
protected:
  void SetUp() override {
    if (!testing::hasAssembler())
      return missingTool("ptxas");
    if (testing::findDisassembler().empty())
      return missingTool("nvdisasm");
  }

  /// Returns the loss of each fence of an MMA that starts while another one runs, in the order of the program.
  static std::vector<FenceLoss> losses(const std::string &ptx) {
    std::vector<FenceLoss> all;
    for (const std::string &text : testing::withoutAFence(ptx)) {
      Expected<FenceLoss> loss = testing::lossOf(ptx, text);
      EXPECT_TRUE(loss.ok()) << loss.status().message();
      all.push_back(loss ? *loss : FenceLoss::unnoticed);
    }
    return all;
  }
};

/// V starts while X of the next iteration runs.
TEST_F(Fences, OfThreeProductsWithAnExchange) {
  const std::string ptx =
      ptxOf(recordBothSides("x v@1 u"), {.num_warps = 8, .num_stages = 2, .roles = Roles::load, .add_by_tma = true});
  EXPECT_THAT(losses(ptx), ElementsAre(FenceLoss::noticed));
}

/// The products with q and of the next state start while others run. The first has no registers of its own.
TEST_F(Fences, OfLinearAttentionWithFourProducts) {
  EXPECT_THAT(losses(ptxOf(bench::recordLinearAttention(bf16, 128, 128))),
              ElementsAre(FenceLoss::oneArrivalLess, FenceLoss::noticed));
}

/// As in the backward pass of softmax attention.
TEST_F(Fences, OfSigmoidAttentionBackward) {
  const std::string ptx =
      ptxOf(recordSigmoidBackward(),
            {.num_warps = 8, .num_stages = 2, .roles = Roles::load, .overlap = Overlap::pingpong, .add_by_tma = true});
  EXPECT_THAT(losses(ptx), ElementsAre(FenceLoss::noticed, FenceLoss::noticed));
}

} // namespace
} // namespace tegula::language
