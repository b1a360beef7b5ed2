// SPDX-License-Identifier: MIT
// Tests that the harness notices changed results, and reads the cases that it prints.
#include "harness/case.h"

#include <gtest/gtest.h>

namespace tegula::testing {
namespace {

Case small() {
  return {.schedule = {.block_m = 16, .block_n = 16},
          .backward = false,
          .shape = {
              .batch = 1, .heads = 2, .kv_heads = 1, .seqlen_q = 20, .seqlen_k = 50, .head_dim = 16, .value_dim = 16}};
}

TEST(Harness, ARerunWithOtherBitsIsNamed) {
  const Case c = small();
  Tensors tensors = makeTensors(c);
  ASSERT_TRUE(launch(c, tensors).ok());
  EXPECT_EQ(rerun(c, tensors, 3), "");
  tensors.o.fill(1);
  EXPECT_EQ(rerun(c, tensors, 3), "rerun 1 has other bits in o\n");
  tensors.lse.fill(1);
  EXPECT_EQ(rerun(c, tensors, 3), "rerun 1 has other bits in lse\n");
}

TEST(Harness, ACaseIsALineOfText) {
  Case c = small();
  c.schedule.num_warps = 12;
  c.schedule.roles = Roles::load;
  c.family = oracle::Family::enlarged;
  c.sharpness = 0.25;
  c.slope = 0.75;
  c.contain_nonfinite = true;
  Expected<Case> parsed = parseCase(toString(c));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->schedule, c.schedule);
  EXPECT_EQ(parsed->sharpness, 0.25);
  EXPECT_EQ(parsed->slope, 0.75);
  EXPECT_TRUE(parsed->contain_nonfinite);
  EXPECT_EQ(toString(*parsed), toString(c));
  c.schedule = {};
  parsed = parseCase(toString(c));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->schedule, c.schedule);
  EXPECT_EQ(parseCase("num_warp=4").status().message(), "'num_warp=4' is not a word of a case");
}

} // namespace
} // namespace tegula::testing
