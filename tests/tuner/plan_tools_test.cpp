// SPDX-License-Identifier: MIT
// Tests the calls that work on any plan.
#include "tegula/plan_tools.h"

#include "compiler/client/InProcessCompiler.h"
#include "plan/programs.h"
#include "tegula/caching_compiler.h"
#include "tegula/dsl.h"
#include "workload/plan_launches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace tegula {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr, ::testing::IsEmpty, ::testing::IsSupersetOf;

Compiler &compiler() {
  static const std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  return *compiler;
}

PlanTask matmulTask() { return {.plan = testing::matmul(), .inputs = {.sizes = {{"m", 70}, {"n", 40}, {"k", 50}}}}; }

/// A copy that leaves out the last element if `tile` is 32.
PlanTask copyTask() {
  const auto copy = [](View X, View Y, int tile) {
    Value i = programId(0) * tile;
    Value inside = i + iota(tile) < (tile == 32 ? X.dim(0) - 1 : X.dim(0));
    Y.store(i, select(inside, X.load(i, {tile}), 0.0));
  };
  Size n("n");
  Tunable tile("tile", {16, 32, 64}, 64);
  PlanSpec plan = KernelSpec("copy", copy, input("x", f32, {n}), output("y", f32, {n}), tile).grid(ceilDiv(n, tile));
  return {.plan = std::move(plan), .inputs = {.sizes = {{"n", 100}}}};
}

PlanOptions withTile(int64_t tile) { return {.configurations = {{"copy", {.tunables = {{"tile", tile}}}}}}; }

TEST(PlanTools, CompareFindsWhereTwoConfigurationsDiffer) {
  const auto device = *cpuDevice();
  const auto same = compare(copyTask(), withTile(16), withTile(64), compiler(), device);
  ASSERT_TRUE(same.ok()) << same.status().message();
  EXPECT_EQ(same->front().different, 0);
  const auto differ = compare(copyTask(), withTile(64), withTile(32), compiler(), device);
  ASSERT_TRUE(differ.ok()) << differ.status().message();
  EXPECT_EQ(differ->front().name, "y");
  EXPECT_EQ(differ->front().at, std::vector<int64_t>{99});
  EXPECT_EQ(differ->front().different, 1);
  EXPECT_THAT(verdict(*differ, 1e-3).message(), HasSubstr("'y' is 0 instead of"));
}

TEST(PlanTools, ExploreRunsAPlanOnTheSimtDevice) {
  const std::shared_ptr<SimtDevice> device = *simtDevice();
  const Expected<PlanExploration> found = explore(matmulTask(), {}, compiler(), device, {.schedules = 3});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->schedules, 3);
  EXPECT_EQ(found->findings.size(), 0u);
  EXPECT_EQ(found->different_results, 0);
  EXPECT_TRUE(verdict(found->errors, usualTolerance(matmulTask().plan)).ok());
}

TEST(PlanTools, TheUsualToleranceKnowsTheTypesOfProducts) {
  const auto toleranceOf = [](DType dtype, Precision precision) {
    const auto square = [precision](View A, View C) {
      Value a = A.load({0, 0}, {16, 16});
      C.store({0, 0}, dot(a, a, fill({16, 16}, 0.0), precision));
    };
    return usualTolerance(
        PlanSpec("square", {KernelSpec("square", square, input("a", dtype, {16, 16}), output("c", f32, {16, 16}))}));
  };
  EXPECT_EQ(toleranceOf(bf16, Precision::ieee), 0x1p-7);
  EXPECT_EQ(toleranceOf(f32, Precision::ieee), 0x1p-16);
  EXPECT_EQ(toleranceOf(f32, Precision::tf32), 0x1p-10);
}

TEST(PlanTools, RowsMayHaveGaps) {
  for (PlanTask task : {matmulTask(), copyTask()}) {
    const auto without = runOnce(task, {}, compiler(), *cpuDevice());
    for (const ArgumentSpec &argument : task.plan.arguments())
      task.inputs.row_gaps.push_back({std::get<TensorSpec>(argument).name, 3});
    for (const std::shared_ptr<Device> &device : {*cpuDevice(), std::shared_ptr<Device>(*simtDevice())}) {
      const auto with = runOnce(task, {}, compiler(), device);
      ASSERT_TRUE(with.ok()) << with.status().message();
      EXPECT_TRUE(verdict(compareOutputs(*with, *without), usualTolerance(task.plan)).ok());
    }
  }
}

TEST(PlanTools, GapsThatAreNotLegalAreErrors) {
  PlanTask task = copyTask();
  const auto messageWith = [&](NamedSize gap) {
    task.inputs.row_gaps = {gap};
    return runOnce(task, {}, compiler(), *cpuDevice()).status().message();
  };
  EXPECT_EQ(messageWith({"z", 3}), "row_gaps: there is no tensor 'z'; the plan's tensors are x, y");
  EXPECT_EQ(messageWith({"x", -1}), "row_gaps: the gap of 'x' is -1; legal are 0 to 65536");
  task.inputs.row_gaps = {{"x", 3}};
  EXPECT_THAT(tune(task, *tuningDevice("cpu", compiler()), compiler(), {.measurer = TEGULA_MEASURE}).status().message(),
              HasSubstr("row_gaps: a search times tensors without gaps"));
}

TEST(PlanTools, ExploreTriesMutants) {
  const std::shared_ptr<SimtDevice> device = *simtDevice();
  const Expected<PlanExploration> found =
      explore(matmulTask(), {}, compiler(), device, {.schedules = 3, .mutate = "all"});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_TRUE(found->findings.empty()) << found->findings.front().message;
  EXPECT_GT(found->mutants_killed, 0);
  EXPECT_EQ(found->launches.front().name, "m=70 k=50 n=40");
  EXPECT_THAT(found->unreached, IsEmpty());
  EXPECT_THAT(found->left_out, IsEmpty());
  int64_t killed = 0;
  for (const ExploredLaunch &launch : found->launches)
    killed += launch.killed;
  EXPECT_EQ(killed, found->mutants_killed);
}

TEST(PlanTools, ExploreLeavesOutLaunchesThatThePlanRefuses) {
  PlanTask task = matmulTask();
  task.plan = PlanSpec(std::move(task.plan)).require(Size("m") <= 70, "m is too large");
  const Expected<PlanExploration> found = explore(task, {}, compiler(), *simtDevice(), {.mutate = "all"});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_THAT(found->left_out, ElementsAre(HasSubstr("m=288: "), HasSubstr("m=288 row_gaps=3: ")));
  EXPECT_THAT(found->left_out.front(), HasSubstr("m is too large"));
}

std::vector<std::string> trialNames(const PlanTask &task) {
  std::vector<std::string> names;
  for (const PlanInputs &trial : tools::planTrials(task.plan, task.inputs))
    names.push_back(tools::launchName(task.plan, trial, task.inputs));
  return names;
}

TEST(PlanTools, TrialsHaveOddSizesAndUnalignedRows) {
  EXPECT_THAT(trialNames(copyTask()), ElementsAre("row_gaps=3", "n=99", "n=50", "n=1", "n=0", "row_gaps=x=3",
                                                  "row_gaps=y=3", "n=408", "n=408 row_gaps=3"));
}

TEST(PlanTools, TrialsChangeEqualSizesTogether) {
  PlanTask task = matmulTask();
  task.inputs.sizes = {{"m", 64}, {"n", 9}, {"k", 64}};
  const std::vector<std::string> names = trialNames(task);
  EXPECT_THAT(names, IsSupersetOf({"m=63 k=63", "m=264 k=264", "n=4", "n=44"}));
  for (const std::string &name : names)
    EXPECT_EQ(name.find("m=") == name.npos, name.find("k=") == name.npos) << name;
}

TEST(PlanTools, ExploreComparesWithTheRightOutputs) {
  PlanTask task = copyTask();
  task.reference = [](HostCall &call) { call["y"] = call["x"]; };
  const Expected<PlanExploration> found = explore(task, withTile(32), compiler(), *simtDevice(), {});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_FALSE(verdict(found->errors, 1e-3).ok());
  EXPECT_TRUE(verdict(explore(task, {}, compiler(), *simtDevice(), {})->errors, 1e-6).ok());
}

TEST(PlanTools, ExploreRunsAPlanWithAWorkspace) {
  const PlanTask task{.plan = testing::sigmoidBackward(),
                      .inputs = {.sizes = {{"queries", 40}, {"keys", 50}}, .scalars = {{"scale", 0.25}}}};
  const Expected<PlanExploration> found = explore(task, {}, compiler(), *simtDevice(), {.schedules = 2});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->findings.size(), 0u);
  EXPECT_TRUE(verdict(found->errors, usualTolerance(task.plan)).ok()) << verdict(found->errors, 0).message();
}

TEST(PlanTools, AReferenceWithAWrongNameIsAnError) {
  PlanTask task = copyTask();
  task.reference = [](HostCall &call) { call["z"]; };
  const Status status = rightOutputs(task, compiler()).status();
  EXPECT_EQ(status.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(status.message(), "the reference threw an exception: the call has no tensor 'z'; it has x, y");
}

struct CountingCompiler : Compiler {
  Expected<Artifact> compile(const CompileRequest &request) override {
    ++count;
    return compiler().compile(request);
  }
  std::string identity(const Target &) const override { return "a test"; }

  int count = 0;
};

TEST(PlanTools, ACachingCompilerCompilesOnce) {
  std::string name = ::testing::TempDir() + "plan_tools_XXXXXX";
  const std::filesystem::path folder = mkdtemp(name.data());
  CountingCompiler counting;
  ArtifactCache kernels({.directory = folder.string()});
  const std::unique_ptr<Compiler> caching = makeCachingCompiler(counting, kernels);
  EXPECT_EQ(caching->identity({}), "a test");
  for (int repeat = 0; repeat < 2; ++repeat)
    ASSERT_TRUE(runOnce(copyTask(), {}, *caching, *cpuDevice()).ok());
  EXPECT_EQ(counting.count, 1);
  std::filesystem::remove_all(folder);
}

/// The copies with these tiles as named programs.
KernelSpec namedCopies(const std::vector<int64_t> &tiles) {
  const PlanTask task = copyTask();
  const KernelSpec &kernel = task.plan.kernels().front();
  std::vector<NamedProgram> programs;
  for (const int64_t tile : tiles) {
    const Configuration configuration = *kernel.resolved({.tunables = {{"tile", tile}}});
    programs.push_back({.name = std::to_string(tile) + ".mlir",
                        .program = *kernel.record(configuration),
                        .grid = {ceilDiv(Size("n"), Size(tile)), 1, 1}});
  }
  return KernelSpec::ofPrograms(std::move(programs), kernel.arguments());
}

TEST(PlanTools, NamedProgramsAreFoundByTheirTextsInAnyOrder) {
  std::string name = ::testing::TempDir() + "plan_tools_XXXXXX";
  const std::filesystem::path folder = mkdtemp(name.data());
  const TuningStore store(folder / "schedules");
  TuningDevice machine = *tuningDevice("cpu", compiler());
  machine.compiler = "this build";
  const Sizes sizes = {{"n", 100}};
  const auto taskOf = [&](const KernelSpec &kernel) {
    return PlanTask{.plan = PlanSpec(kernel), .inputs = {.sizes = sizes}};
  };

  const Expected<Tuning> first =
      tuneOnce(taskOf(namedCopies({16, 64})), machine, compiler(), store, {.measurer = TEGULA_MEASURE});
  ASSERT_TRUE(first.ok()) << first.status().message();
  ASSERT_NE(first->winner(), nullptr) << toTable(*first);
  const std::string winner = first->programOf(*first->winner())->name;
  EXPECT_THAT(toTable(*first), HasSubstr(winner + "  <- chosen"));
  EXPECT_THAT(toJson(*first), HasSubstr("\"program\": \"" + winner + "\""));

  const Expected<Tuning> swapped =
      tuneOnce(taskOf(namedCopies({64, 16})), machine, compiler(), store, {.measurer = TEGULA_MEASURE});
  ASSERT_TRUE(swapped.ok() && swapped->known);
  EXPECT_EQ(swapped->programOf(*swapped->winner())->name, winner);

  // A host that has both, or only the fastest one.
  const TunedConfigurations tuned = store.configurations(machine);
  KernelCache cache(compiler(), *cpuDevice());
  for (const KernelSpec &kernel : {namedCopies({64, 16}), namedCopies({winner == "16.mlir" ? 16 : 64})}) {
    EXPECT_TRUE(tuned.find("copy", *tuningClass(kernel), sizes)) << kernel.programs().size();
    const Expected<Plan> plan = Plan::make(PlanSpec(kernel), cache, {.expected = sizes, .tuned = &tuned});
    EXPECT_TRUE(plan.ok()) << plan.status().message();
  }
  const KernelSpec loser = namedCopies({winner == "16.mlir" ? 64 : 16});
  EXPECT_FALSE(tuned.find("copy", *tuningClass(loser), sizes));
  const Expected<Tuning> alone = tuneOnce(taskOf(namedCopies({winner == "16.mlir" ? 16 : 64})), machine, compiler(),
                                          store, {.measurer = TEGULA_MEASURE});
  EXPECT_TRUE(alone->known);
  std::filesystem::remove_all(folder);
}

TEST(PlanTools, TuneOnceMeasuresOnce) {
  std::string name = ::testing::TempDir() + "plan_tools_XXXXXX";
  const std::filesystem::path folder = mkdtemp(name.data());
  const TuningStore store(folder / "schedules");
  TuningDevice machine = *tuningDevice("cpu", compiler());
  machine.compiler = "this build";
  TuningOptions options{.measurer = TEGULA_MEASURE};

  TuningOptions stopped = options;
  stopped.stopped = [] { return true; };
  EXPECT_FALSE(tuneOnce(copyTask(), machine, compiler(), store, stopped)->complete);
  const Expected<Tuning> first = tuneOnce(copyTask(), machine, compiler(), store, options);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_FALSE(first->known) << "the first one was stopped";
  EXPECT_EQ(first->count(CandidateState::wrong), 1u);
  const Expected<Tuning> second = tuneOnce(copyTask(), machine, compiler(), store, options);
  EXPECT_TRUE(second->known);
  EXPECT_EQ(second->winner()->configuration(), first->winner()->configuration());
  EXPECT_FALSE(tuneOnce(copyTask(), machine, compiler(), store, options, {.again = true})->known);

  TuningOptions given = options;
  given.given = {{.tunables = {{"tile", 16}}}};
  const Expected<Tuning> timed = tuneOnce(copyTask(), machine, compiler(), store, given);
  EXPECT_FALSE(timed->known);
  ASSERT_EQ(timed->candidates.size(), 1u);
  EXPECT_EQ(toString(timed->candidates[0].configuration()), "tile=16");
  TuningOptions exhaustive = options;
  exhaustive.exhaustive = true;
  EXPECT_FALSE(tuneOnce(copyTask(), machine, compiler(), store, exhaustive)->known);
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace tegula
