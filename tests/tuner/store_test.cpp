// SPDX-License-Identifier: MIT
// Tests which tunings are kept, for which tasks and machines, and what happens to files that cannot be read.
#include "example_tuning.h"
#include "tegula/tuning_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace tegula {
namespace {

namespace fs = std::filesystem;

class StoreTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "tegula-schedules-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }

  std::vector<fs::path> files() const { return {fs::directory_iterator(folder / "new"), {}}; }

  fs::path folder;
  TuningStore store() const { return TuningStore(folder / "new"); }
  Tuning tuning = test::exampleTuning();
};

TEST_F(StoreTest, JsonGoesBothWays) {
  Expected<Tuning> parsed = parseTuning(toJson(tuning));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(toJson(*parsed), toJson(tuning));
}

TEST_F(StoreTest, JsonSaysWhetherNanIsContained) {
  tuning.task.problem.contain_nonfinite = true;
  Expected<Tuning> parsed = parseTuning(toJson(tuning));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_TRUE(parsed->task.problem.contain_nonfinite);
}

TEST_F(StoreTest, JsonNamesTheVariant) {
  tuning.task.problem.variant = softcap(30);
  Expected<Tuning> parsed = parseTuning(toJson(tuning));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(problemClass(parsed->task.problem), problemClass(tuning.task.problem));
  EXPECT_EQ(toJson(*parsed), toJson(tuning));
  tuning.task.problem.variant.name = "softcup";
  EXPECT_THAT(parseTuning(toJson(tuning)).status().message(), testing::HasSubstr("variant is \"softcup\""));
}

TEST_F(StoreTest, AVariantHasItsOwnResult) {
  ASSERT_TRUE(store().save(tuning).ok());
  Tuning capped = tuning;
  capped.task.problem.variant = softcap(30);
  EXPECT_FALSE(store().find(capped.task, capped.machine));
  capped.best = 0;
  ASSERT_TRUE(store().save(capped).ok());
  EXPECT_EQ(files().size(), 2u);
  EXPECT_EQ(store().find(capped.task, capped.machine)->winner()->schedule, capped.winner()->schedule);
  EXPECT_EQ(store().find(tuning.task, tuning.machine)->winner()->schedule, tuning.winner()->schedule);
  const TunedSchedules schedules = store().schedules(tuning.machine);
  EXPECT_EQ(schedules.find("flash2_forward", capped.task.problemOfShape()), capped.winner()->schedule);
  EXPECT_EQ(schedules.find("flash2_forward", tuning.task.problemOfShape()), tuning.winner()->schedule);
}

TEST_F(StoreTest, AnotherFormatDoesNotCountAndIsReplaced) {
  ASSERT_TRUE(store().save(tuning).ok());
  std::string old = toJson(tuning);
  const std::string format = "\"format\": 3";
  ASSERT_NE(old.find(format), std::string::npos);
  old.replace(old.find(format), format.size(), "\"format\": 2");
  std::ofstream(files().front(), std::ios::trunc) << old;
  EXPECT_FALSE(store().find(tuning.task, tuning.machine));
  EXPECT_EQ(store().schedules(tuning.machine).size(), 0u);
  ASSERT_TRUE(store().save(tuning).ok());
  EXPECT_EQ(files().size(), 1u);
  EXPECT_TRUE(store().find(tuning.task, tuning.machine));
}

TEST_F(StoreTest, FindsWhatWasSaved) {
  EXPECT_FALSE(store().find(tuning.task, tuning.machine));
  ASSERT_TRUE(store().save(tuning).ok());
  std::optional<Tuning> found = store().find(tuning.task, tuning.machine);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->known);
  EXPECT_EQ(found->winner()->schedule, tuning.winner()->schedule);
  EXPECT_EQ(files().size(), 1u) << "nothing temporary is left";
}

TEST_F(StoreTest, ANewResultReplacesTheOld) {
  ASSERT_TRUE(store().save(tuning).ok());
  tuning.best = 0;
  ASSERT_TRUE(store().save(tuning).ok());
  EXPECT_EQ(store().find(tuning.task, tuning.machine)->best, 0u);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(StoreTest, EveryPartOfTheKeyCounts) {
  ASSERT_TRUE(store().save(tuning).ok());
  auto finds = [&](auto change) {
    Tuning other = tuning;
    change(other);
    return store().find(other.task, other.machine).has_value();
  };
  EXPECT_TRUE(finds([](Tuning &) {}));
  EXPECT_TRUE(finds([](Tuning &t) { t.task.shape.seqlen_q = 1024; })) << "the same class";
  EXPECT_FALSE(finds([](Tuning &t) { t.task.shape.seqlen_q = 1025; }));
  EXPECT_FALSE(finds([](Tuning &t) { t.task.shape.heads = 16; }));
  EXPECT_FALSE(finds([](Tuning &t) { t.task.shape.kv_heads = 8; }));
  EXPECT_FALSE(finds([](Tuning &t) { t.task.program = "flash2_backward"; }));
  EXPECT_FALSE(finds([](Tuning &t) { t.task.problem.dtype = f16; }));
  EXPECT_FALSE(finds([](Tuning &t) { t.task.problem.head_dim = 128; }));
  EXPECT_FALSE(finds([](Tuning &t) { t.task.problem.value_dim = 64; }));
  EXPECT_FALSE(finds([](Tuning &t) { t.task.problem.causal = Causal::none; }));
  EXPECT_FALSE(finds([](Tuning &t) { t.machine.device = "a GPU / model 4"; }));
  EXPECT_FALSE(finds([](Tuning &t) { t.machine.driver = "CUDA 13.1"; }));
  EXPECT_FALSE(finds([](Tuning &t) { t.machine.compiler = "build 2"; }));
  EXPECT_FALSE(finds([](Tuning &t) { t.machine.target.arch = "sm_90a"; }));
}

TEST_F(StoreTest, ACompilerThatIsNotKnownFindsNothing) {
  tuning.machine.compiler = "";
  ASSERT_TRUE(store().save(tuning).ok());
  EXPECT_FALSE(store().find(tuning.task, tuning.machine));
}

TEST_F(StoreTest, WhatCannotBeReadDoesNotCount) {
  ASSERT_TRUE(store().save(tuning).ok());
  fs::path file = files().front();
  std::string whole = toJson(tuning);
  for (size_t length = 0; length < whole.size() - 1; length += 7) {
    std::ofstream(file, std::ios::trunc) << whole.substr(0, length);
    EXPECT_FALSE(store().find(tuning.task, tuning.machine)) << length;
    EXPECT_EQ(store().schedules(tuning.machine).size(), 0u);
  }
  for (const char *text : {"[]", "null", "{\"format\": 1}", "\xff", "{\"format\": 3, \"task\": 3}"}) {
    std::ofstream(file, std::ios::trunc) << text;
    EXPECT_FALSE(store().find(tuning.task, tuning.machine)) << text;
  }
}

TEST_F(StoreTest, PlansGetTheResultsOfTheirMachine) {
  ASSERT_TRUE(store().save(tuning).ok());
  tuning.machine.driver = "CUDA 12.0";
  ASSERT_TRUE(store().save(tuning).ok());
  EXPECT_EQ(files().size(), 2u);
  TunedSchedules schedules = store().schedules(tuning.machine);
  EXPECT_EQ(schedules.size(), 1u);
  AttentionProblem problem = tuning.task.problem;
  problem.expected = tuning.task.shape;
  EXPECT_EQ(schedules.find("flash2_forward", problem), tuning.winner()->schedule);
}

TEST_F(StoreTest, AFileUnderAnotherNameDoesNotCount) {
  ASSERT_TRUE(store().save(tuning).ok());
  fs::path file = files().front();
  tuning.task.program = "flash2_backward";
  ASSERT_TRUE(store().save(tuning).ok());
  for (const fs::path &other : files())
    if (other != file)
      fs::rename(file, other);
  EXPECT_FALSE(store().find(tuning.task, tuning.machine));
}

TEST_F(StoreTest, SaysWhatCannotBeWritten) {
  std::ofstream(folder / "new") << "a file";
  Status status = store().save(tuning);
  EXPECT_EQ(status.code(), ErrorCode::resource_exhausted);
  EXPECT_THAT(status.message(), testing::HasSubstr("cannot be written to '"));
}

TEST_F(StoreTest, WithoutAFolderNothingIsKept) {
  TuningStore none{fs::path()};
  EXPECT_TRUE(none.save(tuning).ok());
  EXPECT_FALSE(none.find(tuning.task, tuning.machine));
  EXPECT_EQ(none.schedules(tuning.machine).size(), 0u);
}

} // namespace
} // namespace tegula
