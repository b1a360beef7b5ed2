// SPDX-License-Identifier: MIT
// The whole tuner on the cores of this machine, with the real compiler and the real tegula-measure.
#include "compiler/client/InProcessCompiler.h"
#include "tegula/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula {
namespace {

using ::testing::HasSubstr;

/// Hides keys after the query where nobody asked for it, for some schedules.
class WrongForSome : public Compiler {
public:
  Expected<Artifact> compile(const CompileRequest &request) override {
    if (request.schedule.block_m != 32)
      return compiler_->compile(request);
    AttentionConfig config{.dtype = f32,
                           .head_dim = 16,
                           .value_dim = 16,
                           .causal = Causal::top_left,
                           .block_m = request.schedule.block_m,
                           .block_n = request.schedule.block_n};
    CompileRequest other = request;
    other.program = recordFlash2Forward(config)->text;
    return compiler_->compile(other);
  }

private:
  std::unique_ptr<Compiler> compiler_ = makeInProcessCompiler();
};

TuningOptions options() {
  TuningOptions options;
  options.measurer = TEGULA_MEASURE;
  options.most_candidates = 6;
  return options;
}

TuningTask task(bool backward) {
  return {.problem = {.dtype = f32, .head_dim = 16, .value_dim = 16, .backward = backward},
          .shape = {.batch = 1, .heads = 2, .kv_heads = 1, .seqlen_q = 100, .seqlen_k = 120},
          .program = backward ? "flash2_backward" : "flash2_forward"};
}

Tuning tuned(const TuningTask &task, Compiler &compiler, const TuningOptions &options) {
  Expected<TuningMachine> machine = tuningMachine("cpu", compiler);
  EXPECT_TRUE(machine.ok());
  Expected<Tuning> tuning = tune(task, *machine, compiler, options);
  EXPECT_TRUE(tuning.ok()) << tuning.status().message();
  return tuning.ok() ? *tuning : Tuning{.task = task, .machine = *machine};
}

TEST(Measure, ForwardAndBackward) {
  for (bool backward : {false, true}) {
    std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
    Tuning tuning = tuned(task(backward), *compiler, options());
    EXPECT_TRUE(tuning.complete);
    ASSERT_NE(tuning.winner(), nullptr);
    EXPECT_GT(tuning.winner()->ms, 0);
    EXPECT_GE(tuning.winner()->samples, 14);
    EXPECT_GT(tuning.winner()->error_ratio, 0);
    EXPECT_LE(tuning.winner()->error_ratio, 2);
    size_t timed = tuning.count(CandidateState::beaten) + tuning.count(CandidateState::finalist);
    EXPECT_EQ(timed, 6u) << toTable(tuning);
  }
}

TEST(Measure, AWrongCandidateIsRejectedByTheReference) {
  WrongForSome compiler;
  TuningOptions all = options();
  all.most_candidates = 1000;
  all.budget_seconds = 300;
  TuningTask small = task(false);
  Tuning tuning = tuned(small, compiler, all);
  size_t wrong = 0;
  for (const Candidate &candidate : tuning.candidates) {
    bool is_wrong = candidate.state == CandidateState::wrong;
    EXPECT_EQ(is_wrong, candidate.schedule.block_m == 32) << toTable(tuning);
    wrong += is_wrong;
    if (is_wrong)
      EXPECT_THAT(candidate.why, HasSubstr("the error ratio may be at most 2, but o has"));
  }
  EXPECT_GT(wrong, 3u);
}

TEST(Measure, OnlyKnownTargetsHaveAMachine) {
  std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  EXPECT_THAT(tuningMachine("simt", *compiler).status().message(), HasSubstr("legal are cpu and cuda"));
}

} // namespace
} // namespace tegula
