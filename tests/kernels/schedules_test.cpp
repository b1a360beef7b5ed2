// SPDX-License-Identifier: MIT
// Compiles the schedules that ship, for GPUs that the machine need not have.
#include "compiler/client/InProcessCompiler.h"
#include "kernels/schedules.h"
#include "sass/checks.h"
#include "support/missing_tool.h"
#include "tegula/attention.h"

#include <gtest/gtest.h>
#include <set>
#include <string>

namespace tegula {
namespace {

class DefaultSchedules : public ::testing::TestWithParam<std::string> {
protected:
  Expected<Artifact> compile(std::string_view program, const AttentionProblem &problem, const char *emit) {
    Target target = {"cuda", GetParam()};
    Expected<KernelConfig> resolved = resolve(problem, program, target);
    if (!resolved)
      return resolved.status();
    Expected<Program> recorded = findAttentionProgram(program)->record(resolved->config);
    if (!recorded)
      return recorded.status();
    return compiler_->compile({recorded->text, resolved->schedule, target, emit});
  }

private:
  std::unique_ptr<Compiler> compiler_ = makeInProcessCompiler();
};

AttentionProblem problemOf(DType dtype, int head_dim, Causal causal) {
  return {.dtype = dtype, .head_dim = head_dim, .value_dim = head_dim, .causal = causal};
}

/// The test that shared memory suffices: the compiler refuses a program instance that needs more than the GPU has.
class DefaultSchedulesFit : public DefaultSchedules {};

TEST_P(DefaultSchedulesFit, ForEveryProgramAndHeadDim) {
  for (const AttentionProgram &program : attentionPrograms())
    for (int head_dim : {8, 64, 96, 128, 192, 224, 256})
      for (DType dtype : {f32, bf16})
        for (bool contains : {false, true}) {
          AttentionProblem problem = problemOf(dtype, head_dim, Causal::none);
          problem.contain_nonfinite = contains;
          Expected<Artifact> artifact = compile(program.name, problem, "order");
          EXPECT_TRUE(artifact.ok()) << program.name << " D=" << head_dim << ' ' << toString(dtype)
                                     << (contains ? " contain_nonfinite: " : ": ") << artifact.status().message();
        }
}

TEST_P(DefaultSchedulesFit, OrTheRowsAreTooLong) {
  for (const AttentionProgram &program : attentionPrograms())
    for (int head_dim : {257, 320, 384, 512, 576})
      for (DType dtype : {f32, bf16}) {
        Expected<Artifact> artifact = compile(program.name, problemOf(dtype, head_dim, Causal::none), "order");
        const Status &status = artifact.status();
        EXPECT_TRUE(status.ok() || status.code() == ErrorCode::unsupported)
            << program.name << " D=" << head_dim << ' ' << toString(dtype) << ": " << status.message();
      }
}

TEST(LongRows, SayWhyTheyDoNotFit) {
  const AttentionProblem problem = problemOf(f32, 576, Causal::none);
  EXPECT_TRUE(resolve(problem, "flash2_forward", {"cuda", "sm_90a"}).ok());
  EXPECT_EQ(resolve(problem, "flash2_backward", {"cuda", "sm_90a"}).status().message(),
            "head_dim is 576 and value_dim 576, for which 'flash2_backward' needs 365 KiB of shared memory with f32; "
            "sm_90a has 227. Dimensions up to 256 always fit");
  EXPECT_TRUE(resolve(problem, "flash2_backward", {"cpu"}).ok());
  EXPECT_TRUE(resolve(problem, "merge", {"cuda", "sm_86"}).ok());
}

INSTANTIATE_TEST_SUITE_P(Gpus, DefaultSchedulesFit,
                         ::testing::Values("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_120"),
                         [](const auto &info) { return info.param; });

/// Schedules with one field each.
const Schedule kOneField[] = {{.block_m = 128},
                              {.num_warps = 8},
                              {.num_stages = 1},
                              {.num_stages = 2},
                              {.num_stages = 3},
                              {.num_stages = 4},
                              {.roles = Roles::load},
                              {.overlap = Overlap::none},
                              {.optimistic_softmax = false},
                              {.lhs_in_registers = false},
                              {.lhs_in_registers = true},
                              {.instances_per_sm = 1},
                              {.instances_per_sm = 2},
                              {.heads_in_l2 = 4},
                              {.tile_scheduler = TileScheduler::static_persistent}};

/// A row that suits a field must leave a schedule that the compiler accepts.
TEST(GivenFields, WithTheRolesOfARowAreLegal) {
  const Target target = {"cuda", "sm_90a", ""};
  std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  std::set<std::string> compiled;
  for (std::string_view program : {"flash2_forward", "flash2_backward"})
    for (const auto &[problem, shipped] : shippedSchedules(target, program))
      for (const Schedule &given : kOneField) {
        const Expected<RecordedKernel> kernel = recordKernel(problem, program, target, given);
        ASSERT_TRUE(kernel.ok()) << kernel.status().message();
        const std::string name = std::string(program) + " " + toString(kernel->schedule);
        if (kernel->schedule.roles != Roles::load || !compiled.insert(name).second)
          continue;
        const Expected<Artifact> artifact =
            compiler->compile({kernel->program.text, kernel->schedule, target, "order"});
        EXPECT_TRUE(artifact.ok()) << name << "\n" << artifact.status().message();
      }
  EXPECT_GE(compiled.size(), 50u);
}

/// Returns the largest part of an iteration with MMAs that moves spilled registers. Spills elsewhere cost little: a
/// producer, which has few registers, mostly waits.
double spillsOfLoops(const Artifact &artifact) {
  Expected<std::string> listing = testing::disassemble(artifact.binary);
  Expected<testing::Sass> sass = listing ? testing::Sass::parse(*listing) : listing.status();
  EXPECT_TRUE(sass.ok()) << sass.status().message();
  double most = 0;
  for (const testing::SassLoop &loop : sass ? sass->productLoops() : std::vector<testing::SassLoop>()) {
    const int spills = testing::countOf(*sass, loop, "LDL") + testing::countOf(*sass, loop, "STL");
    most = std::max(most, spills / double(sass->iteration(loop).size()));
  }
  return most;
}

class DefaultSchedulesDoNotSpill : public DefaultSchedules {
protected:
  /// Up to `in_loops` of the instructions of a loop with MMAs may move spilled registers; 0 allows no spill anywhere.
  void expectNoSpills(const AttentionProblem &problem, double in_loops = 0) {
    for (std::string_view program : {"flash2_forward", "flash2_backward"}) {
      SCOPED_TRACE(std::string(program) + " D=" + std::to_string(problem.head_dim) + ' ' +
                   std::string(toString(problem.dtype)) + (problem.causal == Causal::none ? "" : " causal"));
      Expected<Artifact> artifact = compile(program, problem, "");
      ASSERT_TRUE(artifact.ok()) << artifact.status().message();
      const AssemblerReport &report = artifact->report;
      if (report.assembler.empty())
        return missingTool("ptxas");
      if (in_loops == 0 || report.spill_bytes == 0) {
        EXPECT_EQ(report.spill_bytes, 0);
        EXPECT_EQ(report.stack_bytes, 0);
        continue;
      }
      if (testing::findDisassembler().empty())
        return missingTool("nvdisasm");
      EXPECT_LE(spillsOfLoops(*artifact), in_loops);
    }
  }
};

TEST_P(DefaultSchedulesDoNotSpill, UpToHeadDim128) {
  for (int head_dim : {64, 128})
    for (Causal causal : {Causal::none, Causal::top_left})
      for (DType dtype : {f32, f16, bf16})
        expectNoSpills(problemOf(dtype, head_dim, causal));
}

INSTANTIATE_TEST_SUITE_P(Gpus, DefaultSchedulesDoNotSpill,
                         ::testing::Values("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120"),
                         [](const auto &info) { return info.param; });

/// Score modifications, masks and the bounds of bands and ranges need registers in addition to those of the MMAs.
/// A few may be spilled. On Hopper the backward pass with wgmma spills up to 3 % and takes half the time of mma.sync.
class DefaultSchedulesOfVariants : public DefaultSchedulesDoNotSpill {
protected:
  static constexpr double kFewSpills = 1.0 / 32;
};

TEST_P(DefaultSchedulesOfVariants, DoNotSpill) {
  const Variant variants[] = {softcap(30),
                              alibi(Alignment::bottom_right),
                              slidingWindow(1024, 0, Alignment::bottom_right),
                              prefixLm(Alignment::bottom_right),
                              documents(),
                              additiveBias(bf16)};
  for (int head_dim : {64, 128})
    for (DType dtype : {f16, bf16})
      for (const Variant &variant : variants) {
        SCOPED_TRACE(variant.name);
        AttentionProblem problem = problemOf(dtype, head_dim, Causal::none);
        problem.variant = variant;
        expectNoSpills(problem, kFewSpills);
      }
}

INSTANTIATE_TEST_SUITE_P(Gpus, DefaultSchedulesOfVariants, ::testing::Values("sm_80", "sm_86", "sm_90a"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace tegula
