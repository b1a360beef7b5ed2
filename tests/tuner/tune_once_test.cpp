// SPDX-License-Identifier: MIT
// Tests what becomes of the results of searches: kept, not kept, or not good enough to be kept.
#include "one_kernel.h"
#include "tegula/tune_once.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace tegula {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class TuneOnce : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "tune_once_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    options_.measurer = TEGULA_MEASURE_STAND_IN;
    options_.max_candidates = 4;
  }
  void TearDown() override { fs::remove_all(folder_); }

  Expected<Tuning> tuned(const StoreOptions &stored = {}) {
    return tuneOnce(task_, machine_, compiler_, TuningStore(folder_ / "schedules"), options_, stored);
  }

  fs::path folder_;
  TuningTask task_ = {.problem = {.dtype = f32, .head_dim = 64, .value_dim = 64},
                      .shape = {.batch = 1, .heads = 2, .kv_heads = 2, .seqlen_q = 128, .seqlen_k = 128},
                      .program = "flash2_forward"};
  OneKernel compiler_{task_};
  TuningDevice machine_ = {.target = {"cpu", "", ""}, .device = "a test", .driver = "", .compiler = "this build"};
  TuningOptions options_;
};

TEST_F(TuneOnce, WhatIsKnownIsNotMeasured) {
  const Expected<Tuning> first = tuned();
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_FALSE(first->known);
  EXPECT_TRUE(first->store_error.ok() && !first->outranked);
  EXPECT_TRUE(tuned()->known);
  EXPECT_FALSE(tuned({.again = true})->known);
}

TEST_F(TuneOnce, AStoreThatIsNotWritableIsReportedFirstAndLosesNothing) {
  std::ofstream(folder_ / "schedules") << "a file";
  std::vector<std::string> events;
  options_.progress = [&](const TuningProgress &) {
    if (events.size() < 2)
      events.emplace_back("measuring");
  };
  const Expected<Tuning> tuning = tuned({.not_writable = [&](const Status &why) { events.push_back(why.message()); }});
  ASSERT_TRUE(tuning.ok()) << tuning.status().message();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_THAT(events[0], HasSubstr("results cannot be written to '" + (folder_ / "schedules").string() + "'"));
  EXPECT_EQ(events[1], "measuring");
  EXPECT_NE(tuning->winner(), nullptr);
  EXPECT_EQ(tuning->store_error.message(), events[0]);
}

TEST_F(TuneOnce, AStoppedSearchReplacesNoCompleteResult) {
  const Expected<Tuning> complete = tuned();
  ASSERT_TRUE(complete.ok()) << complete.status().message();
  bool timing = false;
  int laps = 0;
  options_.progress = [&](const TuningProgress &step) { timing = step.timed > 0; };
  options_.stopped = [&] { return timing && ++laps > 4; };
  const Expected<Tuning> stopped = tuned({.again = true});
  ASSERT_TRUE(stopped.ok()) << stopped.status().message();
  ASSERT_NE(stopped->winner(), nullptr);
  EXPECT_FALSE(stopped->complete);
  EXPECT_TRUE(stopped->outranked);
  EXPECT_THAT(toTable(*stopped), HasSubstr("the result that is kept already is better, and stays"));
  options_.stopped = {};
  const Expected<Tuning> known = tuned();
  EXPECT_TRUE(known->known && known->complete);
  EXPECT_EQ(known->winner()->samples, complete->winner()->samples);
}

} // namespace
} // namespace tegula
