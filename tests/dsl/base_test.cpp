// SPDX-License-Identifier: MIT
// The vocabulary: statuses, dtypes, schedules.
#include "tegula/dtype.h"
#include "tegula/schedule.h"
#include "tegula/status.h"

#include <gtest/gtest.h>

using namespace tegula;

namespace {

TEST(Status, NamesItsCodes) {
  EXPECT_STREQ(toString(ErrorCode::Ok), "Ok");
  EXPECT_STREQ(toString(ErrorCode::InvalidProgram), "InvalidProgram");
  EXPECT_STREQ(toString(ErrorCode::Internal), "Internal");
  EXPECT_STREQ(toString(static_cast<ErrorCode>(99)), "unknown");
}

TEST(Expected, HoldsAValueOrAStatus) {
  Expected<int> value = 3, error = Status(ErrorCode::Cancelled, "stopped");
  EXPECT_TRUE(value.ok());
  EXPECT_TRUE(value.status().ok());
  EXPECT_EQ(*value, 3);
  EXPECT_FALSE(error);
  EXPECT_EQ(error.status().message(), "stopped");
}

TEST(DType, NamesGoBothWays) {
  for (DType dtype : {f32, f16, bf16, i64, i32, i8, DType::i1, DType::index})
    EXPECT_EQ(parseDType(toString(dtype)), dtype);
  EXPECT_EQ(parseDType("float"), std::nullopt);
  EXPECT_EQ(parseDType(""), std::nullopt);
}

TEST(DType, SizesAndKinds) {
  EXPECT_EQ(sizeOf(f32), 4u);
  EXPECT_EQ(sizeOf(bf16), 2u);
  EXPECT_EQ(sizeOf(DType::i1), 1u);
  EXPECT_EQ(sizeOf(DType::index), 8u);
  EXPECT_TRUE(isFloat(f16));
  EXPECT_FALSE(isFloat(i8));
}

TEST(Schedule, TextGoesBothWays) {
  Schedule schedule{.block_m = 96, .block_n = 64, .num_warps = 0, .num_stages = 2};
  EXPECT_EQ(toString(schedule), "block_m=96 block_n=64 num_stages=2");
  EXPECT_EQ(*parseSchedule(toString(schedule)), schedule);
  EXPECT_EQ(*parseSchedule("  "), Schedule());
  EXPECT_EQ(toString(Schedule()), "");
}

TEST(Schedule, ErrorsNameTheWord) {
  for (const char *text : {"block_k=3", "block_m", "=3", "block_m=", "block_m=-1", "block_m=3x", "block_m=99999999999",
                           "block_m=1 block_m=2"}) {
    Expected<Schedule> schedule = parseSchedule(text);
    ASSERT_FALSE(schedule) << text;
    EXPECT_EQ(schedule.status().code(), ErrorCode::InvalidArgument);
  }
  EXPECT_EQ(
      parseSchedule("block_k=3").status().message(),
      "schedule: 'block_k=3' is not name=number with a name of block_m, block_n, num_warps, num_stages, num_roles, "
      "num_products, num_attempts, held_operands, instances_per_sm, heads_per_group, persistent");
}

} // namespace
