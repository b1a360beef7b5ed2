// SPDX-License-Identifier: MIT
// Tests that tasks of attention reach the process that measures as they are.
#include "messages.h"

#include "tegula/tuned_schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula::tuning {
namespace {

TuningTask task() {
  return {.problem = {.dtype = bf16, .head_dim = 64, .value_dim = 128, .causal = Causal::bottom_right},
          .shape = {.batch = 2, .heads = 8, .kv_heads = 4, .seqlen_q = 1000, .seqlen_k = 3000},
          .program = "flash2_forward"};
}

/// Returns the task after a journey.
TuningTask sent(const TuningTask &task) { return taskOf(Json::parse(toJson(task).dump())); }

TEST(TaskMessage, SaysWhatIsTuned) {
  EXPECT_EQ(toJson(sent(task())), toJson(task()));
  TuningTask contained = task();
  contained.problem.contain_nonfinite = true;
  EXPECT_TRUE(sent(contained).problem.contain_nonfinite);
  EXPECT_FALSE(sent(task()).problem.contain_nonfinite);
}

TEST(TaskMessage, NamesTheVariant) {
  TuningTask capped = task();
  capped.problem.variant = softcap(30);
  EXPECT_EQ(problemClass(sent(capped).problem), problemClass(capped.problem));
  capped.problem.variant.name = "softcup";
  try {
    sent(capped);
    FAIL() << "there is no such variant";
  } catch (const nlohmann::json::exception &error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("variant is \"softcup\""));
  }
}

} // namespace
} // namespace tegula::tuning
