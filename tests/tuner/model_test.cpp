// SPDX-License-Identifier: MIT
// Compares estimates for schedules that are not compiled yet with the reports of the compiler.
#include "attention_subject.h"
#include "compiler/client/InProcessCompiler.h"
#include "model.h"
#include "remote_device.h"
#include "workload/named_variants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula::tuning {
namespace {

using ::testing::HasSubstr;

constexpr AttentionShape kShape = {.batch = 4, .heads = 16, .kv_heads = 16, .seqlen_q = 4096, .seqlen_k = 4096};

TuningDevice h100() {
  return {.target = {"cuda", "sm_90", ""},
          .device = "NVIDIA H100 80GB HBM3",
          .driver = "CUDA 13.0",
          .compiler = "this build",
          .multiprocessors = 132,
          .shared_bytes_per_block = 227 << 10,
          .shared_bytes_per_multiprocessor = 228 << 10};
}

TuningTask task(const char *program, int dim) {
  bool backward = std::string_view(program) == "flash2_backward";
  return {.problem = {.dtype = bf16, .head_dim = dim, .value_dim = dim, .backward = backward},
          .shape = kShape,
          .program = program};
}

ResourceEstimate demandOf(const TuningTask &task, const Schedule &schedule) {
  return findSearchSpace(task.program)
      ->estimate(task.problem, {.shape = task.shape, .diagonal_offset = task.diagonal_offset}, schedule);
}

/// Returns the bytes of shared memory of the compiled program.
int64_t sharedBytes(const TuningTask &task, const Schedule &schedule, const char *arch = "sm_90") {
  const Target target = {"cuda", arch, ""};
  Expected<KernelConfig> resolved = resolve(task.problem, task.program, target, schedule);
  Expected<Program> program = findAttentionProgram(task.program)->record(resolved->config);
  Expected<Artifact> artifact = makeInProcessCompiler()->compile(
      {.program = program->text, .schedule = resolved->schedule, .target = target, .emit = "llvm"});
  EXPECT_TRUE(artifact.ok()) << artifact.status().message();
  return artifact.ok() ? artifact->shared_bytes : 0;
}

TEST(Model, CountsSharedMemoryAsTheCompilerDoes) {
  for (const char *schedule :
       {"block_m=128 block_n=64 num_warps=4 num_stages=2", "block_m=64 block_n=96 num_warps=4 num_stages=3"}) {
    TuningTask forward = task("flash2_forward", 64);
    EXPECT_EQ(demandOf(forward, *parseSchedule(schedule)).shared_bytes, sharedBytes(forward, *parseSchedule(schedule)));
  }
  TuningTask backward = task("flash2_backward", 64);
  Schedule schedule{.block_m = 64, .block_n = 64, .num_warps = 4, .num_stages = 2};
  EXPECT_EQ(demandOf(backward, schedule).shared_bytes, sharedBytes(backward, schedule));
}

TEST(Model, CountsTheTilesOfABias) {
  const char *schedule = "block_m=128 block_n=64 num_warps=8 num_stages=3 roles=load overlap=pingpong";
  TuningTask biased = task("flash2_forward", 64);
  const int64_t plain = demandOf(biased, *parseSchedule(schedule)).shared_bytes;
  const int64_t compiled = sharedBytes(biased, *parseSchedule(schedule), "sm_90a");
  EXPECT_NEAR(double(plain), double(compiled), 256) << "mbarriers are not counted";
  const int64_t tiles = 3 * 128 * 64 * 2;
  biased.problem.variant = additiveBias(bf16);
  EXPECT_EQ(demandOf(biased, *parseSchedule(schedule)).shared_bytes, plain + tiles);
  EXPECT_NEAR(double(sharedBytes(biased, *parseSchedule(schedule), "sm_90a")), double(compiled + tiles), 256);
  biased.problem.variant = additiveBias(f32);
  EXPECT_EQ(demandOf(biased, *parseSchedule(schedule)).shared_bytes, plain);
}

Candidate judged(const TuningTask &task, const char *schedule) {
  Candidate candidate{.schedule = *parseSchedule(schedule)};
  judge(candidate, demandOf(task, candidate.schedule), h100());
  return candidate;
}

TEST(Model, RulesOutWhatDoesNotFit) {
  TuningTask forward = task("flash2_forward", 128);
  EXPECT_THAT(judged(forward, "block_m=128 block_n=192 num_warps=4 num_stages=3").why,
              HasSubstr("needs 320 KiB of shared memory, there are 227"));
  EXPECT_THAT(judged(forward, "block_m=256 block_n=64 num_warps=4 num_stages=1").why,
              HasSubstr("registers a thread, there are 255"));
  EXPECT_EQ(judged(forward, "block_m=128 block_n=64 num_warps=4 num_stages=2").why, "");
  EXPECT_THAT(judged(forward, "block_m=128 block_n=64 num_warps=4 num_stages=2 instances_per_sm=3").why,
              HasSubstr("needs 96 KiB of shared memory, there are 75"));
  EXPECT_THAT(judged(forward, "block_m=128 block_n=64 num_warps=4 num_stages=1 instances_per_sm=3").why,
              HasSubstr("registers a thread, there are 170"));
}

TEST(Model, AWindowOfKeysIsVisitedAlone) {
  const Schedule schedule = *parseSchedule("block_m=128 block_n=64 num_warps=4 num_stages=2");
  for (const char *program : {"flash2_forward", "flash2_backward"}) {
    TuningTask task = tuning::task(program, 64);
    const double all = demandOf(task, schedule).iterations;
    EXPECT_EQ(all, program == std::string_view("flash2_forward") ? 64 : 32);
    task.problem.causal = Causal::top_left;
    const double causal = demandOf(task, schedule).iterations;
    EXPECT_EQ(causal, all / 2 + (program == std::string_view("flash2_forward") ? 1 : 0.5)) << "tiles on the diagonal";
    task.problem.variant = slidingWindow(1024, 0, Alignment::top_left);
    EXPECT_LT(demandOf(task, schedule).iterations, all / 3);
    task.problem.variant = slidingWindow(1 << 20, 0, Alignment::top_left);
    EXPECT_EQ(demandOf(task, schedule).iterations, causal) << "causal attention alone sees no more";
    task.problem.diagonal_offset = true;
    task.diagonal_offset = kShape.seqlen_k;
    EXPECT_EQ(demandOf(task, schedule).iterations, all);
  }
}

TEST(Model, OnlyTilesOfRangesAndUnionsAreVisited) {
  const Schedule schedule = *parseSchedule("block_m=128 block_n=64 num_warps=4 num_stages=2");
  for (const char *program : {"flash2_forward", "flash2_backward"}) {
    TuningTask task = tuning::task(program, 64);
    const auto iterations = [&](Variant variant) {
      task.problem.variant = std::move(variant);
      return demandOf(task, schedule).iterations;
    };
    const auto named = [&](const char *name) { return iterations(tools::findVariant(name)->make(task.problem)); };
    const double all = iterations({}), window = iterations(slidingWindow(1024, 0, Alignment::top_left));
    EXPECT_EQ(named("documents"), all / 2) << "two documents of 2048 tokens";
    EXPECT_EQ(named("key_intervals"), program == std::string_view("flash2_forward") ? all / 2 : all)
        << "the backward pass skips nothing by them";
    EXPECT_EQ(named("given_window"), window);
    EXPECT_GT(named("prefix_lm"), all / 2);
    EXPECT_LT(named("prefix_lm"), all * 0.7);
    const double globals = iterations(windowWithGlobals(1024, 0, 64, Alignment::top_left));
    EXPECT_GT(globals, window);
    EXPECT_LT(globals, window + 3) << "the first block of queries sees all keys";
    EXPECT_EQ(iterations(windowWithGlobals(1024, 0, 4096, Alignment::top_left)), all);
  }
}

TEST(Model, OnlyListedTilesAreVisited) {
  const Schedule schedule = *parseSchedule("block_m=128 block_n=64 num_warps=4 num_stages=2");
  AttentionProblem problem = task("flash2_forward", 64).problem;
  problem.block_mask.source = BlockMask::Source::given;
  // The first of each two blocks of 256 keys.
  const ModelledLaunch launch{.shape = kShape,
                              .is_listed = [](KeyInterval, KeyInterval keys) { return keys.begin / 256 % 2 == 0; }};
  EXPECT_EQ(findSearchSpace("flash2_forward")->estimate(problem, launch, schedule).iterations, 32);
  EXPECT_EQ(findSearchSpace("flash2_backward")->estimate(problem, launch, schedule).iterations, 16);
}

TEST(Model, PrefersWhatIsKnownToBeFast) {
  TuningTask forward = task("flash2_forward", 128);
  double good = judged(forward, "block_m=128 block_n=64 num_warps=4 num_stages=2").model_cost;
  EXPECT_LT(good, judged(forward, "block_m=64 block_n=32 num_warps=4 num_stages=1").model_cost);
  EXPECT_LT(good, judged(forward, "block_m=128 block_n=32 num_warps=8 num_stages=1").model_cost);
}

TEST(Model, OnAGpuThereAreSixtyCandidatesAtLeast) {
  for (int dim : {64, 128}) {
    Expected<std::vector<Candidate>> candidates = candidatesOf(task("flash2_forward", dim), h100(), 96);
    ASSERT_TRUE(candidates.ok());
    auto possible = std::count_if(candidates->begin(), candidates->end(),
                                  [](const Candidate &c) { return c.state == CandidateState::waiting; });
    EXPECT_GE(possible, 60) << dim;
    EXPECT_LE(possible, 96) << dim;
  }
}

TEST(Model, AHopperHasCandidatesWithRoles) {
  TuningTask forward = task("flash2_forward", 128);
  TuningDevice hopper = h100();
  hopper.target.arch = "sm_90a";
  std::vector<Candidate> candidates = *candidatesOf(forward, hopper, TuningOptions().max_candidates);
  auto roles = std::count_if(candidates.begin(), candidates.end(), [](const Candidate &c) {
    return c.schedule.roles == Roles::load && c.state == CandidateState::waiting;
  });
  EXPECT_GT(roles, 10);
  Schedule fast{
      .block_m = 192, .block_n = 112, .num_warps = 12, .num_stages = 2, .roles = Roles::load, .overlap = Overlap::none};
  EXPECT_TRUE(std::any_of(candidates.begin(), candidates.end(), [&](const Candidate &c) {
    return c.schedule == fast && c.state == CandidateState::waiting;
  }));
  const std::vector<Candidate> others = *candidatesOf(forward, h100(), 96);
  for (const Candidate &candidate : others)
    EXPECT_EQ(candidate.schedule.roles, Roles::none);
}

/// A compiler that compiles nothing, and keeps the schedules that it is asked for.
struct NothingToCompile : Compiler {
  Expected<Artifact> compile(const CompileRequest &request) override {
    schedules.push_back(request.schedule);
    return Artifact();
  }
  std::vector<Schedule> schedules;
};

TEST(Programs, TheOthersAreChosenForTheShape) {
  TuningTask backward = task("flash2_backward", 128);
  backward.shape.seqlen_q = backward.shape.seqlen_k = 1024;
  backward.problem.expected.seqlen_k = 1 << 20;
  const Target hopper{"cuda", "sm_90a", ""};
  NothingToCompile compiler;
  KernelCache cache(compiler, makeRemoteDevice(std::make_shared<RemoteProcess>("", "cuda", StopRequest()), hopper));
  Expected<AttentionSubject> subject = AttentionSubject::make(backward, {.target = hopper});
  (void)subject->makePlan(0, subject->candidates(1)->front(), cache);
  ASSERT_GE(compiler.schedules.size(), 2u);
  EXPECT_EQ(compiler.schedules[1], resolve(backward.problemOfShape(), "flash2_forward", hopper)->schedule);
  EXPECT_NE(compiler.schedules[1], resolve(backward.problem, "flash2_forward", hopper)->schedule);
}

/// A field that a candidate leaves out would be the compiler's choice, which may not be what the name says.
TEST(Model, CandidatesForGpusLeaveTheCompilerNoChoiceOfRoles) {
  TuningDevice hopper = h100();
  hopper.target.arch = "sm_90a";
  for (const char *program : {"flash2_forward", "flash2_backward"}) {
    const std::vector<Candidate> candidates = *candidatesOf(task(program, 64), hopper, 96);
    for (const Candidate &candidate : candidates) {
      const Schedule &schedule = candidate.schedule;
      const bool hasRoles = schedule.roles == Roles::load, adds = hasRoles && program == std::string("flash2_backward");
      EXPECT_TRUE(schedule.roles && schedule.num_warps != 0 && schedule.num_stages != 0) << toString(schedule);
      EXPECT_EQ(schedule.overlap.has_value(), hasRoles) << toString(schedule);
      EXPECT_EQ(schedule.add_by_tma.has_value(), adds) << toString(schedule);
    }
  }
}

TEST(Model, TheUntunedScheduleComesFirstAndOnce) {
  TuningTask forward = task("flash2_forward", 128);
  std::vector<Candidate> candidates = *candidatesOf(forward, h100(), 1);
  Schedule untuned = resolve(forward.problem, forward.program, h100().target)->schedule;
  EXPECT_EQ(candidates.front().schedule, untuned);
  EXPECT_EQ(candidates.front().state, CandidateState::waiting);
  for (size_t n = 1; n < candidates.size(); ++n) {
    EXPECT_NE(candidates[n].schedule, untuned);
    EXPECT_NE(candidates[n].state, CandidateState::waiting);
  }
}

TEST(SearchSpace, EnumeratesEachScheduleOnce) {
  std::vector<ScheduleSpace> boxes = {{{&Schedule::block_m, {16, 32}}, {&Schedule::num_warps, {1, 2}}},
                                      {{&Schedule::block_m, {32}}, {&Schedule::num_warps, {2, 4}}}};
  std::vector<Schedule> all = enumerate(boxes);
  EXPECT_EQ(all.size(), 5u);
  EXPECT_EQ(toString(all.back()), "block_m=32 num_warps=4");
}

} // namespace
} // namespace tegula::tuning
