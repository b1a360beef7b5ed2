// SPDX-License-Identifier: MIT
// Tests the whole tuner on the cores of this machine, with the real compiler and the real tegula-measure.
#include "compiler/client/InProcessCompiler.h"
#include "tegula/tuner.h"
#include "workload/named_variants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula {
namespace {

using ::testing::HasSubstr;

/// A compiler that compiles another variant than requested for some schedules.
class WrongForSome : public Compiler {
public:
  explicit WrongForSome(Variant variant) : variant_(std::move(variant)) {}

  Expected<Artifact> compile(const CompileRequest &request) override {
    if (request.schedule.block_m != 32)
      return compiler_->compile(request);
    AttentionConfig config{.dtype = f32,
                           .head_dim = 16,
                           .value_dim = 16,
                           .variant = variant_,
                           .block_m = request.schedule.block_m,
                           .block_n = request.schedule.block_n};
    CompileRequest other = request;
    other.program = recordFlash2Forward(config)->text;
    return compiler_->compile(other);
  }

private:
  const Variant variant_;
  std::unique_ptr<Compiler> compiler_ = makeInProcessCompiler();
};

TuningOptions options() {
  TuningOptions options;
  options.measurer = TEGULA_MEASURE;
  options.max_candidates = 6;
  return options;
}

TuningTask task(bool backward) {
  return {.problem = {.dtype = f32, .head_dim = 16, .value_dim = 16, .backward = backward},
          .shape = {.batch = 1, .heads = 2, .kv_heads = 1, .seqlen_q = 100, .seqlen_k = 120},
          .program = backward ? "flash2_backward" : "flash2_forward"};
}

Tuning tuned(const TuningTask &task, Compiler &compiler, const TuningOptions &options) {
  Expected<TuningDevice> machine = tuningDevice("cpu", compiler);
  EXPECT_TRUE(machine.ok());
  Expected<Tuning> tuning = tune(task, *machine, compiler, options);
  EXPECT_TRUE(tuning.ok()) << tuning.status().message();
  return tuning.ok() ? *tuning : Tuning();
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
  WrongForSome compiler({.name = "causal", .bands = {{.right = 0, .alignment = Alignment::top_left}}});
  TuningOptions all = options();
  all.max_candidates = 1000;
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

TEST(Measure, EachVariantForwardAndBackward) {
  for (const tools::NamedVariant &variant : tools::namedVariants())
    for (bool backward : {false, true}) {
      std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
      TuningTask modified = task(backward);
      modified.problem.variant = variant.make(modified.problem);
      TuningOptions few = options();
      few.max_candidates = 2;
      Tuning tuning = tuned(modified, *compiler, few);
      ASSERT_NE(tuning.winner(), nullptr) << variant.name << "\n" << toTable(tuning);
      EXPECT_EQ(tuning.count(CandidateState::beaten) + tuning.count(CandidateState::finalist), 2u)
          << variant.name << "\n"
          << toTable(tuning);
    }
}

TEST(Measure, ACandidateThatLosesItsVariantIsRejected) {
  const std::pair<Variant, Variant> losses[] = {
      {softcap(30), softcap(20)},
      {slidingWindow(1024, 0, Alignment::top_left), slidingWindow(2000, 0, Alignment::top_left)}};
  for (const auto &[asked, compiled] : losses) {
    WrongForSome compiler(compiled);
    TuningTask modified = task(false);
    modified.problem.variant = asked;
    modified.shape.seqlen_q = modified.shape.seqlen_k = 1200;
    TuningOptions all = options();
    all.max_candidates = 1000;
    all.budget_seconds = 300;
    Tuning tuning = tuned(modified, compiler, all);
    for (const Candidate &candidate : tuning.candidates)
      EXPECT_EQ(candidate.state == CandidateState::wrong, candidate.schedule.block_m == 32) << toTable(tuning);
  }
}

TEST(Measure, OnlyKnownTargetsHaveAMachine) {
  std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  EXPECT_THAT(tuningDevice("simt", *compiler).status().message(), HasSubstr("legal are cpu and cuda"));
}

} // namespace
} // namespace tegula
