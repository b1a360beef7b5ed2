// SPDX-License-Identifier: MIT
// Tests which tunings are kept, for which tasks and machines, and what happens to files that cannot be read.
#include "example_tuning.h"
#include "tegula/tuning_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

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
  std::optional<Tuning> find(const Tuning &tuning) const {
    return store().find(tuning.kernel, tuning.kernel_class, tuning.sizes, tuning.machine);
  }

  Tuning tuning = test::exampleTuning();
};

TEST_F(StoreTest, JsonGoesBothWays) {
  Expected<Tuning> parsed = parseTuning(toJson(tuning));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(toJson(*parsed), toJson(tuning));
}

TEST_F(StoreTest, ATaskFindsItsResult) {
  ASSERT_TRUE(store().save(tuning).ok());
  TuningTask capped = test::exampleTask();
  EXPECT_TRUE(store().find(capped, tuning.machine));
  capped.problem.variant = softcap(30);
  EXPECT_FALSE(store().find(capped, tuning.machine));
  Tuning other = test::exampleTuning(capped);
  other.best = 0;
  ASSERT_TRUE(store().save(other).ok());
  EXPECT_EQ(files().size(), 2u) << "a variant has its own result";
  EXPECT_EQ(store().find(capped, tuning.machine)->winner()->schedule, other.winner()->schedule);
  EXPECT_EQ(store().find(test::exampleTask(), tuning.machine)->winner()->schedule, tuning.winner()->schedule);
  const TunedConfigurations all = store().configurations(tuning.machine);
  EXPECT_EQ(tunedSchedule(all, "flash2_forward", capped.problemOfShape()), other.winner()->schedule);
  EXPECT_EQ(tunedSchedule(all, "flash2_forward", test::exampleTask().problemOfShape()), tuning.winner()->schedule);
}

TEST_F(StoreTest, AnotherFormatDoesNotCountAndIsReplaced) {
  ASSERT_TRUE(store().save(tuning).ok());
  std::string old = toJson(tuning);
  const std::string format = "\"format\": 5";
  ASSERT_NE(old.find(format), std::string::npos);
  old.replace(old.find(format), format.size(), "\"format\": 4");
  std::ofstream(files().front(), std::ios::trunc) << old;
  EXPECT_FALSE(find(tuning));
  EXPECT_EQ(store().configurations(tuning.machine).size(), 0u);
  ASSERT_TRUE(store().save(tuning).ok());
  EXPECT_EQ(files().size(), 1u);
  EXPECT_TRUE(find(tuning));
}

TEST_F(StoreTest, FindsWhatWasSaved) {
  EXPECT_FALSE(find(tuning));
  ASSERT_TRUE(store().save(tuning).ok());
  std::optional<Tuning> found = find(tuning);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->known);
  EXPECT_EQ(found->winner()->schedule, tuning.winner()->schedule);
  EXPECT_EQ(files().size(), 1u) << "nothing temporary is left";
}

TEST_F(StoreTest, ANewResultReplacesTheOldOfTheSameWorth) {
  ASSERT_TRUE(store().save(tuning).ok());
  std::swap(tuning.candidates[0], tuning.candidates[1]);
  tuning.best = 0;
  ASSERT_TRUE(store().save(tuning).ok());
  EXPECT_EQ(find(tuning)->best, 0u);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(StoreTest, EveryPartOfTheKeyCounts) {
  ASSERT_TRUE(store().save(tuning).ok());
  auto finds = [&](auto change) {
    Tuning other = tuning;
    change(other);
    return find(other).has_value();
  };
  EXPECT_TRUE(finds([](Tuning &) {}));
  EXPECT_TRUE(finds([](Tuning &t) { t.sizes[3].value = 1024; })) << "queries of the same class";
  EXPECT_FALSE(finds([](Tuning &t) { t.sizes[3].value = 1025; }));
  EXPECT_FALSE(finds([](Tuning &t) { t.sizes[1].value = 16; })) << "heads";
  EXPECT_FALSE(finds([](Tuning &t) { t.sizes[2].value = 8; })) << "kv_heads";
  EXPECT_FALSE(finds([](Tuning &t) { t.kernel = "flash2_backward"; }));
  EXPECT_FALSE(finds([](Tuning &t) { t.kernel_class += " softcap"; }));
  EXPECT_FALSE(finds([](Tuning &t) { t.machine.device = "a GPU / model 4"; }));
  EXPECT_FALSE(finds([](Tuning &t) { t.machine.driver = "CUDA 13.1"; }));
  EXPECT_FALSE(finds([](Tuning &t) { t.machine.compiler = "build 2"; }));
  EXPECT_FALSE(finds([](Tuning &t) { t.machine.target.arch = "sm_90a"; }));
}

TEST_F(StoreTest, ACompilerThatIsNotKnownFindsNothing) {
  tuning.machine.compiler = "";
  ASSERT_TRUE(store().save(tuning).ok());
  EXPECT_FALSE(find(tuning));
}

TEST_F(StoreTest, WhatCannotBeReadDoesNotCount) {
  ASSERT_TRUE(store().save(tuning).ok());
  fs::path file = files().front();
  std::string whole = toJson(tuning);
  for (size_t length = 0; length < whole.size() - 1; length += 7) {
    std::ofstream(file, std::ios::trunc) << whole.substr(0, length);
    EXPECT_FALSE(find(tuning)) << length;
    EXPECT_EQ(store().configurations(tuning.machine).size(), 0u);
  }
  for (const char *text : {"[]", "null", "{\"format\": 1}", "\xff", "{\"format\": 5, \"class\": 3}"}) {
    std::ofstream(file, std::ios::trunc) << text;
    EXPECT_FALSE(find(tuning)) << text;
  }
}

TEST_F(StoreTest, PlansGetTheResultsOfTheirMachine) {
  ASSERT_TRUE(store().save(tuning).ok());
  tuning.machine.driver = "CUDA 12.0";
  ASSERT_TRUE(store().save(tuning).ok());
  EXPECT_EQ(files().size(), 2u);
  const TunedConfigurations all = store().configurations(tuning.machine);
  EXPECT_EQ(all.size(), 1u);
  EXPECT_EQ(all.find(tuning.kernel, tuning.kernel_class, tuning.sizes), toString(tuning.winner()->schedule));
}

TEST_F(StoreTest, AFileUnderAnotherNameDoesNotCount) {
  ASSERT_TRUE(store().save(tuning).ok());
  fs::path file = files().front();
  tuning.kernel = "flash2_backward";
  ASSERT_TRUE(store().save(tuning).ok());
  for (const fs::path &other : files())
    if (other != file)
      fs::rename(file, other);
  EXPECT_FALSE(find(tuning));
}

TEST_F(StoreTest, SaysWhatCannotBeWritten) {
  std::ofstream(folder / "new") << "a file";
  for (const Status &status : {store().save(tuning).status(), store().checkWritable()}) {
    EXPECT_EQ(status.code(), ErrorCode::resource_exhausted);
    EXPECT_THAT(status.message(), testing::HasSubstr("cannot be written to '" + (folder / "new").string() + "'"));
  }
}

TEST_F(StoreTest, AskingWhetherItIsWritableLeavesNothing) {
  EXPECT_TRUE(store().checkWritable().ok());
  EXPECT_TRUE(files().empty());
}

/// A result of the kinds that a store may have.
Tuning result(bool complete, CandidateState state, int samples) {
  Tuning tuning = test::exampleTuning();
  tuning.complete = complete;
  tuning.candidates[1].state = state;
  tuning.candidates[1].samples = samples;
  return tuning;
}

TEST_F(StoreTest, AResultNeverReplacesABetterOne) {
  using enum CandidateState;
  // From the worst to the best.
  const Tuning results[] = {result(false, unfinished, 1), result(false, unfinished, 2), result(true, unfinished, 1),
                            result(true, unfinished, 2), result(true, finalist, 24)};
  for (const Tuning &earlier : results)
    for (const Tuning &later : results) {
      fs::remove_all(folder / "new");
      ASSERT_TRUE(*store().save(earlier));
      const bool better = &later >= &earlier; // Of two that are equally good, the later one counts.
      EXPECT_EQ(*store().save(later), better);
      EXPECT_EQ(find(tuning)->complete, (better ? later : earlier).complete);
      EXPECT_EQ(find(tuning)->winner()->samples, (better ? later : earlier).winner()->samples);
    }
}

TEST_F(StoreTest, MoreSamplesOfARaceToTheEndAreNotBetter) {
  ASSERT_TRUE(*store().save(result(true, CandidateState::finalist, 36)));
  EXPECT_TRUE(*store().save(result(true, CandidateState::finalist, 24))) << "the user has measured again";
}

TEST_F(StoreTest, TheBetterOfManyAtOnceStays) {
  for (int round = 0; round < 20; ++round) {
    fs::remove_all(folder / "new");
    std::vector<std::jthread> writers;
    for (int samples = 1; samples <= 6; ++samples)
      writers.emplace_back([&, samples] {
        const bool best = samples == 3;
        EXPECT_TRUE(
            store().save(result(best, best ? CandidateState::finalist : CandidateState::unfinished, samples)).ok());
      });
    writers.clear();
    EXPECT_TRUE(find(tuning)->complete);
    EXPECT_EQ(files().size(), 1u) << "no lock is left";
  }
}

TEST_F(StoreTest, AWaitForAnotherTuningIsStopped) {
  const std::shared_ptr<void> held = store().lock(tuning.machine, std::chrono::seconds(1));
  ASSERT_TRUE(held);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(store().lock(tuning.machine, std::chrono::minutes(10), [] { return true; }));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

TEST_F(StoreTest, WithoutAFolderNothingIsKept) {
  TuningStore none{fs::path()};
  EXPECT_THAT(none.save(tuning).status().message(), testing::HasSubstr("there is no directory for results"));
  EXPECT_FALSE(none.checkWritable().ok());
  EXPECT_FALSE(none.find(test::exampleTask(), tuning.machine));
  EXPECT_EQ(none.configurations(tuning.machine).size(), 0u);
}

} // namespace
} // namespace tegula
