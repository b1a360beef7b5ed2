// SPDX-License-Identifier: MIT
// Tests the tuner with a stand-in that crashes, hangs and errs on command, and whose times are known.
#include "fates.h"
#include "one_kernel.h"
#include "tegula/tuned_schedules.h"
#include "tegula/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <sstream>
#include <thread>

namespace tegula {
namespace {

using ::testing::HasSubstr;

/// A compiler that refuses block_m = 192, and spills for some schedules with block_n = 192.
struct FakeCompiler : OneKernel {
  using OneKernel::OneKernel;
  Expected<Artifact> compile(const CompileRequest &request) override {
    if (request.schedule.block_m == 192)
      return Status(ErrorCode::compile_failed, "too many rows\nand more");
    Expected<Artifact> artifact = OneKernel::compile(request);
    if (request.schedule.block_n == 192 && request.schedule.block_m > 16)
      artifact->report.spill_bytes = 1000;
    return artifact;
  }
};

constexpr AttentionShape kShape = {.batch = 1, .heads = 2, .kv_heads = 2, .seqlen_q = 128, .seqlen_k = 128};

TuningTask task() {
  return {.problem = {.dtype = f32, .head_dim = 64, .value_dim = 64}, .shape = kShape, .program = "flash2_forward"};
}

TuningDevice machine() {
  return {.target = {"cpu", "", ""}, .device = "a test", .driver = "", .compiler = "this build"};
}

TuningOptions options() {
  TuningOptions options;
  options.measurer = TEGULA_MEASURE_STAND_IN;
  options.patience_seconds = 0.5;
  options.compile_threads = 2;
  return options;
}

Expected<Tuning> tuned(const TuningOptions &options) {
  static FakeCompiler compiler(task());
  return tune(task(), machine(), compiler, options);
}

const Candidate &find(const Tuning &tuning, int block_m, int block_n) {
  for (const Candidate &candidate : tuning.candidates)
    if (candidate.schedule.block_m == block_m && candidate.schedule.block_n == block_n)
      return candidate;
  ADD_FAILURE() << "no candidate " << block_m << " " << block_n;
  return tuning.candidates.front();
}

TEST(Tune, FindsTheFastestAmongCandidatesThatCrashHangAndErr) {
  Expected<Tuning> tuning = tuned(options());
  ASSERT_TRUE(tuning.ok()) << tuning.status().message();
  EXPECT_TRUE(tuning->complete);
  ASSERT_NE(tuning->winner(), nullptr);
  EXPECT_EQ(toString(tuning->winner()->schedule), "block_m=64 block_n=48");
  EXPECT_NEAR(tuning->winner()->ms, 1.02, 0.03);

  struct Expectation {
    int block_m, block_n;
    CandidateState state;
    const char *why;
  };
  const Expectation expectations[] = {
      {16, 32, CandidateState::faulted, "SIGSEGV"},
      {16, 48, CandidateState::hung, "took longer than 0.5 s"},
      {16, 64, CandidateState::wrong, "o has"},
      {16, 96, CandidateState::wrong, "o has nan"},
      {16, 128, CandidateState::faulted, "the context is poisoned"},
      {16, 192, CandidateState::faulted, "SIGSEGV"}, // While it is timed.
      {32, 48, CandidateState::faulted, "SIGSEGV"},  // While it is loaded and others are checked.
      {192, 64, CandidateState::refused, "too many rows"},
      {64, 192, CandidateState::spilled, "spills 1000 bytes"},
      {128, 128, CandidateState::beaten, ""},
  };
  for (const Expectation &e : expectations) {
    const Candidate &candidate = find(*tuning, e.block_m, e.block_n);
    EXPECT_EQ(toString(candidate.state), toString(e.state)) << toString(candidate.schedule);
    EXPECT_THAT(candidate.why, HasSubstr(e.why));
  }
  EXPECT_EQ(tuning->count(CandidateState::faulted), 4u) << "nobody else is blamed\n" << toTable(*tuning);
  EXPECT_EQ(tuning->count(CandidateState::hung), 1u);
}

TEST(Tune, WhatHasLostIsNotTimedAgain) {
  Expected<Tuning> tuning = tuned(options());
  ASSERT_TRUE(tuning.ok());
  EXPECT_LT(find(*tuning, 128, 128).samples, tuning->winner()->samples / 4);
}

TEST(Tune, ExhaustiveTimesEverythingThatIsRight) {
  TuningOptions all = options();
  all.exhaustive = true;
  Expected<Tuning> tuning = tuned(all);
  ASSERT_TRUE(tuning.ok()) << tuning.status().message();
  ASSERT_TRUE(tuning->exhaustive && tuning->exhaustive->best);
  EXPECT_EQ(*tuning->exhaustive->best, *tuning->best);
  EXPECT_GT(find(*tuning, 128, 128).samples, 14) << "every round but the last";
  EXPECT_LT(find(*tuning, 128, 128).samples, tuning->winner()->samples);
  EXPECT_TRUE(find(*tuning, 64, 192).timed()) << "spills do not count";
  EXPECT_EQ(find(*tuning, 64, 192).state, CandidateState::spilled);
  EXPECT_THAT(toTable(*tuning), HasSubstr("chosen 1.0"));
}

TEST(Tune, StoppingKeepsWhatWasMeasured) {
  TuningOptions stopping = options();
  bool timing = false;
  int laps = 0;
  stopping.progress = [&](const TuningProgress &step) { timing = step.activity == "timing"; };
  stopping.stopped = [&] { return timing && ++laps > 35; };
  Expected<Tuning> tuning = tuned(stopping);
  ASSERT_TRUE(tuning.ok());
  EXPECT_FALSE(tuning->complete);
  ASSERT_NE(tuning->winner(), nullptr);
  EXPECT_LT(tuning->winner()->samples, 15);
  EXPECT_EQ(toString(tuning->winner()->state), "unfinished") << "no candidate was timed to the end";
  EXPECT_EQ(tuning->count(CandidateState::finalist), 0u);
}

/// Returns options of a search that is stopped after a while, and that waits long for each answer.
TuningOptions stoppedSoon() {
  TuningOptions soon = options();
  soon.patience_seconds = 60;
  soon.stopped = [end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300)] {
    return std::chrono::steady_clock::now() > end;
  };
  return soon;
}

TEST(Tune, StoppingDoesNotWaitForAnAnswer) {
  TuningOptions hanging = stoppedSoon();
  hanging.given = {{.schedule = {.block_m = 16, .block_n = 48}}};
  const auto begin = std::chrono::steady_clock::now();
  Expected<Tuning> tuning = tuned(hanging);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  ASSERT_TRUE(tuning.ok()) << tuning.status().message();
  EXPECT_FALSE(tuning->complete);
  EXPECT_EQ(toString(tuning->candidates.front().state), "waiting") << "the candidate has not failed";
}

TEST(Tune, StoppingDoesNotWaitForTheReference) {
  TuningTask slow = task(); // It is checked at 1299 queries and keys, which takes the reference seconds.
  slow.problem.head_dim = slow.problem.value_dim = 256;
  slow.problem.variant = slidingWindow(1024, 0, Alignment::top_left);
  slow.shape = {.batch = 1, .heads = 2, .kv_heads = 1, .seqlen_q = 1300, .seqlen_k = 1300};
  FakeCompiler compiler(slow);
  const TuningOptions soon = stoppedSoon();
  const auto begin = std::chrono::steady_clock::now();
  Expected<Tuning> tuning = tune(slow, machine(), compiler, soon);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  ASSERT_TRUE(tuning.ok()) << tuning.status().message();
  EXPECT_FALSE(tuning->complete);
  EXPECT_EQ(tuning->count(CandidateState::checked), 0u);
}

/// A compiler that waits until it is stopped, as that of worker processes does.
struct SlowCompiler : Compiler {
  explicit SlowCompiler(std::function<bool()> stopped) : stopped(std::move(stopped)) {}
  Expected<Artifact> compile(const CompileRequest &) override {
    while (!stopped())
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return Status(ErrorCode::cancelled, "the compilation was stopped");
  }
  std::function<bool()> stopped;
};

TEST(Tune, StoppingWhileCandidatesCompileRefusesNone) {
  const TuningOptions soon = stoppedSoon();
  SlowCompiler compiler(soon.stopped);
  const auto begin = std::chrono::steady_clock::now();
  Expected<Tuning> tuning = tune(task(), machine(), compiler, soon);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  ASSERT_TRUE(tuning.ok()) << tuning.status().message();
  EXPECT_EQ(tuning->count(CandidateState::refused), 0u);
}

TEST(Tune, StoppingTheExhaustiveComparisonKeepsTheSearch) {
  TuningOptions all = options();
  all.exhaustive = true;
  double furthest = 0;
  bool again = false;
  all.progress = [&](const TuningProgress &step) {
    again = again || (step.activity == "timing" && step.fraction < furthest);
    furthest = std::max(furthest, step.activity == "timing" ? step.fraction : 0);
  };
  all.stopped = [&] { return again; };
  Expected<Tuning> tuning = tuned(all);
  ASSERT_TRUE(tuning.ok()) << tuning.status().message();
  EXPECT_TRUE(tuning->complete) << "the search itself was not stopped";
  ASSERT_NE(tuning->winner(), nullptr);
  EXPECT_GE(tuning->winner()->samples, 24);
  EXPECT_TRUE(tuning->winner()->timedToTheEnd());
  ASSERT_TRUE(tuning->exhaustive);
  EXPECT_FALSE(tuning->exhaustive->best);
  EXPECT_THAT(toTable(*tuning), HasSubstr("exhaustive: stopped early"));
}

TEST(Tune, TheTableTellsRoughTimesFromMeasuredOnes) {
  Expected<Tuning> tuning = tuned(options());
  ASSERT_TRUE(tuning.ok()) << tuning.status().message();
  const std::string table = toTable(*tuning);
  const size_t rough = table.find("not timed to the end; times of few samples are rough:\n");
  ASSERT_NE(rough, std::string::npos) << table;
  EXPECT_LT(table.find("<- chosen"), rough);
  EXPECT_EQ(table.substr(0, rough).find('~'), std::string::npos) << table;
  EXPECT_LT(rough, table.find(" beaten ")) << table;
  std::istringstream lines(table.substr(rough));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && !line.empty())
    EXPECT_THAT(line, testing::ContainsRegex("^ +~[0-9.]+ +~[0-9.]+ +[0-9]+ ")) << line;
}

TEST(Tune, StoppingAtOnceMeasuresNothing) {
  TuningOptions stopping = options();
  stopping.stopped = [] { return true; };
  Expected<Tuning> tuning = tuned(stopping);
  ASSERT_TRUE(tuning.ok());
  EXPECT_FALSE(tuning->complete);
  EXPECT_EQ(tuning->winner(), nullptr);
  EXPECT_GT(tuning->count(CandidateState::waiting), 0u);
}

TEST(Tune, TheBudgetEndsATuning) {
  TuningOptions brief = options();
  brief.budget_seconds = 0;
  Expected<Tuning> tuning = tuned(brief);
  ASSERT_TRUE(tuning.ok());
  EXPECT_TRUE(tuning->complete) << "the next one would not come further";
  EXPECT_EQ(tuning->winner(), nullptr);
}

TEST(Tune, TheModelChoosesWhomToCompile) {
  TuningOptions few = options();
  few.max_candidates = 5;
  Expected<Tuning> tuning = tuned(few);
  ASSERT_TRUE(tuning.ok());
  size_t unlikely = tuning->count(CandidateState::unlikely);
  EXPECT_EQ(unlikely, tuning->candidates.size() - 5);
  EXPECT_FALSE(tuning->candidates.back().timed());
}

TEST(Tune, SchedulesThatAreGivenAreTimedToTheEnd) {
  TuningOptions given = options();
  given.given = {{.schedule = {.block_m = 128, .block_n = 128}},
                 {.schedule = {.block_m = 64, .block_n = 48}},
                 {.schedule = {.block_m = 16, .block_n = 64}},
                 {.schedule = {.block_m = 16, .block_n = 192}}};
  given.rounds = 3;
  given.window_seconds = 0.01;
  given.budget_seconds = 0; // It does not count.
  Expected<Tuning> tuning = tuned(given);
  ASSERT_TRUE(tuning.ok()) << tuning.status().message();
  EXPECT_TRUE(tuning->complete && tuning->given);
  ASSERT_EQ(tuning->candidates.size(), 4u);
  const CandidateState states[] = {CandidateState::finalist, CandidateState::finalist, CandidateState::wrong,
                                   CandidateState::faulted};
  for (size_t n = 0; n < 4; ++n)
    EXPECT_EQ(toString(tuning->candidates[n].state), toString(states[n])) << n;
  EXPECT_EQ(tuning->best, 1u);
  for (size_t n : {0, 1}) {
    const Candidate &candidate = tuning->candidates[n];
    EXPECT_EQ(candidate.samples, 3) << "a median of each window";
    EXPECT_NEAR(candidate.ms, msOf(candidate.schedule), 0.04 * candidate.ms);
    EXPECT_FALSE(candidate.clock_mhz || candidate.watts) << "this is no GPU";
  }
  EXPECT_THAT(toTable(*tuning), HasSubstr("block_m=64 block_n=48  <- fastest"));
  EXPECT_EQ(toTable(*tuning).find("<- untuned"), std::string::npos);
  given.given = {{.schedule = {.block_m = -1}}};
  EXPECT_FALSE(tuned(given).ok());
}

TEST(Tune, RefusesWhatCannotBeTuned) {
  FakeCompiler compiler(task());
  TuningTask wrong = task();
  wrong.program = "flash1_forward";
  EXPECT_THAT(tune(wrong, machine(), compiler, options()).status().message(), HasSubstr("no program 'flash1_forward'"));
  wrong.problem.algorithm = Algorithm::flash1;
  EXPECT_THAT(tune(wrong, machine(), compiler, options()).status().message(),
              HasSubstr("'flash1_forward' has no search space; these have: flash2_forward, flash2_backward"));
  wrong = task();
  wrong.shape.heads = 0;
  EXPECT_EQ(tune(wrong, machine(), compiler, options()).status().code(), ErrorCode::invalid_argument);
  wrong = task();
  wrong.shape.kv_heads = 3;
  EXPECT_THAT(tune(wrong, machine(), compiler, options()).status().message(),
              HasSubstr("3 kv_heads do not divide the 2"));
  wrong = task();
  wrong.problem.backward = true;
  EXPECT_THAT(tune(wrong, machine(), compiler, options()).status().message(),
              HasSubstr("'flash2_forward' belongs to the forward pass"));
  for (const Variant &variant : {slidingWindow(7, 0, Alignment::top_left), combine(softcap(30), documents())}) {
    wrong = task();
    wrong.problem.variant = variant;
    const Status status = tune(wrong, machine(), compiler, options()).status();
    EXPECT_EQ(status.code(), ErrorCode::unsupported);
    EXPECT_THAT(status.message(), HasSubstr("the variant '" + variant.name + "' cannot be tuned"));
    EXPECT_THAT(status.message(), HasSubstr("there is one for softcap, alibi, sliding_window"));
  }
}

TEST(Tune, AVariantIsTunedWithTheOneOfItsClassThatHasAName) {
  TuningTask capped = task();
  capped.problem.variant = softcap(50);
  TuningTask named = task();
  named.problem.variant = softcap(30); // That of `tegula attention --variant`.
  FakeCompiler compiler(named);
  TuningOptions few = options();
  few.max_candidates = 5;
  Expected<Tuning> tuning = tune(capped, machine(), compiler, few);
  ASSERT_TRUE(tuning.ok()) << tuning.status().message();
  ASSERT_NE(tuning->winner(), nullptr);
  EXPECT_EQ(tuning->kernel_class, problemClass(capped.problemOfShape()));
  EXPECT_THAT(toTable(*tuning), HasSubstr("flash2 f32 64 64 none score softcap"));
}

TEST(Tune, SaysSoIfNothingCanBeMeasured) {
  TuningOptions none = options();
  none.measurer = "/nowhere/tegula-measure";
  Expected<Tuning> tuning = tuned(none);
  ASSERT_FALSE(tuning.ok());
  EXPECT_EQ(tuning.status().code(), ErrorCode::internal);
  EXPECT_THAT(tuning.status().message(), HasSubstr("/nowhere/tegula-measure"));
}

} // namespace
} // namespace tegula
