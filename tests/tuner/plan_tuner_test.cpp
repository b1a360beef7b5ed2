// SPDX-License-Identifier: MIT
// Tunes described kernels on the cores of this machine, with the real compiler and the real tegula-measure.
#include "compiler/client/InProcessCompiler.h"
#include "plan/programs.h"
#include "tegula/dsl.h"
#include "tegula/plan_tuner.h"
#include "tegula/tuning_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>

namespace tegula {
namespace {

using ::testing::HasSubstr;

Compiler &compiler() {
  static const std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  return *compiler;
}

TuningDevice machine() {
  TuningDevice machine = *tuningDevice("cpu", compiler());
  machine.compiler = "this build";
  return machine;
}

TuningOptions options() {
  TuningOptions options;
  options.measurer = TEGULA_MEASURE;
  return options;
}

PlanTask matmulTask() { return {.plan = testing::matmul(), .inputs = {.sizes = {{"m", 100}, {"n", 70}, {"k", 90}}}}; }

Tuning tuned(const PlanTask &task, const TuningOptions &how = options()) {
  Expected<Tuning> tuning = tune(task, machine(), compiler(), how);
  EXPECT_TRUE(tuning.ok()) << tuning.status().message();
  return tuning ? *tuning : Tuning();
}

TEST(PlanTuner, FindsTheFastestConfiguration) {
  const Tuning tuning = tuned(matmulTask());
  EXPECT_TRUE(tuning.complete);
  EXPECT_EQ(tuning.kernel, "matmul");
  ASSERT_EQ(tuning.candidates.size(), 3u);
  ASSERT_NE(tuning.winner(), nullptr);
  EXPECT_GT(tuning.winner()->ms, 0);
  for (const Candidate &candidate : tuning.candidates) {
    EXPECT_TRUE(candidate.timed()) << toString(candidate.state) << " " << candidate.why;
    EXPECT_LE(candidate.error_ratio, 1);
  }
  EXPECT_THAT(toTable(tuning), HasSubstr("matmul, m=100 n=70 k=90"));
  EXPECT_THAT(toTable(tuning), HasSubstr("block_m=64 block_n=32"));
  EXPECT_THAT(toHtml(tuning), HasSubstr("<th class=\"axis\">block_m</th>"));
}

TEST(PlanTuner, TimesConfigurationsThatAreGiven) {
  TuningOptions given = options();
  given.given = {{.tunables = {{"block_m", 32}}}, {}};
  given.rounds = 2;
  given.window_seconds = 0.01;
  const Tuning tuning = tuned(matmulTask(), given);
  ASSERT_EQ(tuning.candidates.size(), 2u);
  EXPECT_EQ(toString(tuning.candidates[0].configuration()), "block_m=32 block_n=32");
  EXPECT_EQ(tuning.candidates[0].samples, 2);
  given.given = {{.tunables = {{"block_n", 64}}}};
  EXPECT_THAT(tune(matmulTask(), machine(), compiler(), given).status().message(),
              HasSubstr("the accumulator is too large"));
}

/// A product that leaves out the last key if block_m is 32.
void wrongForSome(View A, View B, View C, int block_m) {
  Value i = programId(0) * block_m;
  Var c = fill({block_m, 32}, 0.0);
  Value end = block_m == 32 ? A.dim(1) - 1 : A.dim(1);
  for (Value k : range(0, A.dim(1), 16)) {
    Value seen = asRow(k + iota(16)) < end;
    c = dot(select(seen, A.load({i, k}, {block_m, 16}), 0.0), B.load({k, 0}, {16, 32}), c);
  }
  C.store({i, 0}, c);
}

PlanTask wrongTask() {
  Size m("m"), k("k");
  Tunable block_m("block_m", {16, 32, 64}, 16);
  PlanSpec plan = KernelSpec("wrong", wrongForSome, input("a", f32, {m, k}), input("b", f32, {k, 32}),
                             output("c", f32, {m, 32}), block_m)
                      .grid(ceilDiv(m, block_m));
  return {.plan = std::move(plan), .inputs = {.sizes = {{"m", 64}, {"k", 50}}}};
}

const Candidate &candidateOf(const Tuning &tuning, int64_t first) {
  return *std::ranges::find_if(tuning.candidates,
                               [&](const Candidate &c) { return c.tunables.front().value == first; });
}

TEST(PlanTuner, AWrongCandidateIsFoundByTheOneWithoutTuning) {
  const Tuning tuning = tuned(wrongTask());
  EXPECT_EQ(toString(candidateOf(tuning, 32).state), "wrong");
  EXPECT_THAT(candidateOf(tuning, 32).why, HasSubstr("the tolerance"));
  EXPECT_TRUE(candidateOf(tuning, 64).timed());
}

TEST(PlanTuner, AReferenceOfTheUserJudgesEveryCandidate) {
  PlanTask task = wrongTask();
  task.reference = [](HostCall &call) {
    const int64_t rows = call.size("m"), inner = call.size("k");
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < 32; ++j)
        for (int64_t k = 0; k < inner; ++k)
          call["c"][size_t(i * 32 + j)] += call["a"][size_t(i * inner + k)] * call["b"][size_t(k * 32 + j)];
  };
  const Tuning right = tuned(task);
  EXPECT_TRUE(candidateOf(right, 16).timed()) << candidateOf(right, 16).why;
  EXPECT_EQ(toString(candidateOf(right, 32).state), "wrong");
  task.reference = [](HostCall &call) { std::ranges::fill(call["c"], 1.0); };
  EXPECT_EQ(tuned(task).count(CandidateState::wrong), 3u);
}

TEST(PlanTuner, InputsOfTheUserReachTheProcessThatMeasures) {
  PlanTask task = wrongTask();
  task.inputs.fill = [](HostTensor &tensor, uint64_t) {
    if (tensor.name != "b")
      return false;
    std::ranges::fill(tensor.values, 0.0); // Then the missing key does not matter.
    return true;
  };
  EXPECT_EQ(tuned(task).count(CandidateState::wrong), 0u);
}

TEST(PlanTuner, TunesAKernelOfAPlanWithAWorkspace) {
  PlanTask task{.plan = testing::sigmoidBackward(),
                .inputs = {.sizes = {{"queries", 60}, {"keys", 50}}, .scalars = {{"scale", 0.25}}}};
  EXPECT_EQ(tune(task, machine(), compiler(), options()).status().message(),
            "plan 'sigmoid_backward' has no kernel '' to tune; it has sigmoid_main, sigmoid_finish");
  task.kernel = "sigmoid_main";
  const Tuning tuning = tuned(task);
  EXPECT_EQ(tuning.candidates.size(), 4u);
  EXPECT_EQ(tuning.count(CandidateState::wrong), 0u) << toTable(tuning);
  ASSERT_NE(tuning.winner(), nullptr) << toTable(tuning);
}

TEST(PlanTuner, RefusesATaskThatCannotBeRun) {
  PlanTask task = matmulTask();
  task.inputs.sizes.pop_back();
  EXPECT_EQ(tune(task, machine(), compiler(), options()).status().message(),
            "the shape of 'a' needs a size: the size 'k' is not known");
  task = {.plan = testing::sigmoidBackward(),
          .inputs = {.sizes = {{"queries", 60}, {"keys", 50}}},
          .kernel = "sigmoid_main"};
  EXPECT_EQ(tune(task, machine(), compiler(), options()).status().message(), "the scalar 'scale' has no value");
}

TEST(PlanTuner, RefusesNumbersThatAreNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  PlanTask task{.plan = testing::sigmoidBackward(),
                .inputs = {.sizes = {{"queries", 60}, {"keys", 50}}, .scalars = {{"scale", infinity}}},
                .kernel = "sigmoid_main"};
  const Status scalar = tune(task, machine(), compiler(), options()).status();
  EXPECT_EQ(scalar.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(scalar.message(), "the scalar 'scale' is inf; a search takes finite numbers");
  task = matmulTask();
  task.tolerance = infinity;
  const Status tolerance = tune(task, machine(), compiler(), options()).status();
  EXPECT_EQ(tolerance.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(tolerance.message(), "the tolerance is inf; a search takes finite numbers");
}

TEST(PlanTuner, StoppingAtOnceMeasuresNothing) {
  TuningOptions stopping = options();
  stopping.stopped = [] { return true; };
  const Tuning tuning = tuned(matmulTask(), stopping);
  EXPECT_FALSE(tuning.complete);
  EXPECT_EQ(tuning.winner(), nullptr);
}

class PlanStore : public ::testing::Test {
protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "plan_store_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  TuningStore store() const { return TuningStore(folder_ / "schedules"); }

  std::filesystem::path folder_;
};

TEST_F(PlanStore, GivesResultsBackAndServesPlans) {
  const Tuning tuning = tuned(matmulTask());
  ASSERT_TRUE(store().save(tuning).ok());
  const std::optional<Tuning> found =
      store().find(tuning.kernel, tuning.kernel_class, {{"m", 128}, {"n", 128}, {"k", 128}}, tuning.machine);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->known);
  EXPECT_EQ(found->winner()->configuration(), tuning.winner()->configuration());
  EXPECT_EQ(found->sizes, tuning.sizes);
  EXPECT_FALSE(store().find(tuning.kernel, tuning.kernel_class, {{"m", 129}, {"n", 128}, {"k", 128}}, tuning.machine));
  EXPECT_FALSE(store().find(tuning.kernel, "other", tuning.sizes, tuning.machine));

  const TunedConfigurations all = store().configurations(tuning.machine);
  EXPECT_EQ(*all.find("matmul", tuning.kernel_class, {{"m", 90}, {"n", 120}, {"k", 250}}),
            toString(tuning.winner()->configuration()));
}

TEST_F(PlanStore, ServesKernelsWithoutTunables) {
  Tuning tuning;
  tuning.kernel = "copy";
  tuning.kernel_class = "class";
  tuning.sizes = {{"n", 64}};
  tuning.machine = machine();
  tuning.candidates = {{.schedule = {.num_warps = 8}, .ms = 2, .samples = 3}};
  tuning.best = 0;
  ASSERT_TRUE(store().save(tuning).ok());
  const std::optional<std::string> text = store().configurations(machine()).find("copy", "class", {{"n", 64}});
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "num_warps=8");
}

TEST(PlanTuning, IsReadAsItIsWritten) {
  Tuning tuning;
  tuning.kernel = "matmul";
  tuning.kernel_class = "class";
  tuning.sizes = {{"m", 64}, {"q.0", 3}};
  tuning.candidates = {{.schedule = {.num_warps = 8}, .ms = 2, .samples = 3, .tunables = {{"block_m", 32}}}};
  tuning.best = 0;
  const std::string text = toJson(tuning);
  const Expected<Tuning> again = parseTuning(text);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(toJson(*again), text);
  EXPECT_FALSE(parseTuning("{}").ok());
}

} // namespace
} // namespace tegula
