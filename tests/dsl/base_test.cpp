// SPDX-License-Identifier: MIT
// Tests of statuses, dtypes and schedules.
#include "tegula/dtype.h"
#include "tegula/schedule.h"
#include "tegula/serialize.h"
#include "tegula/status.h"

#include <gtest/gtest.h>

using namespace tegula;

namespace {

TEST(Status, NamesItsCodes) {
  EXPECT_STREQ(toString(ErrorCode::ok), "ok");
  EXPECT_STREQ(toString(ErrorCode::invalid_program), "invalid_program");
  EXPECT_STREQ(toString(ErrorCode::internal), "internal");
  EXPECT_STREQ(toString(static_cast<ErrorCode>(99)), "unknown");
}

TEST(Expected, HoldsAValueOrAStatus) {
  Expected<int> value = 3, error = Status(ErrorCode::cancelled, "stopped");
  EXPECT_TRUE(value.ok());
  EXPECT_TRUE(value.status().ok());
  EXPECT_EQ(*value, 3);
  EXPECT_FALSE(error);
  EXPECT_EQ(error.status().message(), "stopped");
}

TEST(DType, NamesGoBothWays) {
  for (DType dtype : {f32, f16, bf16, e4m3, i64, i32, i8, DType::i1, DType::index}) {
    EXPECT_EQ(parseDType(toString(dtype)), dtype);
    EXPECT_EQ(parseMlirType(toMlir(dtype)), dtype);
  }
  EXPECT_EQ(toString(e4m3), "e4m3");
  EXPECT_EQ(toMlir(e4m3), "f8E4M3FN");
  EXPECT_EQ(toMlir(bf16), "bf16");
  EXPECT_EQ(parseDType("float"), std::nullopt);
  EXPECT_EQ(parseDType(""), std::nullopt);
}

TEST(DType, SizesAndKinds) {
  EXPECT_EQ(sizeOf(f32), 4u);
  EXPECT_EQ(sizeOf(bf16), 2u);
  EXPECT_EQ(sizeOf(e4m3), 1u);
  EXPECT_EQ(sizeOf(DType::i1), 1u);
  EXPECT_EQ(sizeOf(DType::index), 8u);
  EXPECT_TRUE(isFloat(f16));
  EXPECT_TRUE(isFloat(e4m3));
  EXPECT_FALSE(isFloat(i8));
}

TEST(Artifact, TensorMapsGoBothWays) {
  Artifact artifact;
  artifact.tensor_maps = {{.parameter = 1, .dtype = bf16, .box = {64, 256}, .swizzle = 128, .columns = 80},
                          {.parameter = 2, .dtype = f32, .box = {128}, .swizzle = 0, .columns = 1},
                          {.parameter = 0, .dtype = i8, .box = {128, 4, 16}, .swizzle = 64, .columns = 7},
                          {.parameter = 1, .dtype = bf16, .box = {64, 8}, .columns = 9, .ends_inside = true},
                          {.parameter = 1, .dtype = bf16, .box = {64, 8}, .columns = 9, .joined = 2}};
  const Expected<Artifact> parsed = parseArtifact(serialize(artifact));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->tensor_maps, artifact.tensor_maps);
}

TEST(Artifact, DebugSitesGoBothWays) {
  Artifact artifact;
  artifact.debug = {
      .record_words = 37,
      .sites = {{.name = "the sum", .location = "a.cpp:7", .dtype = bf16, .shape = {4, 8}, .loops = {"", "b"}},
                {.kind = DebugSite::Kind::element, .name = "/"}}};
  const Expected<Artifact> parsed = parseArtifact(serialize(artifact));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->debug, artifact.debug);
}

TEST(CompileRequest, DebugOptionsGoBothWays) {
  for (FiniteCheck check : {FiniteCheck::none, FiniteCheck::nan, FiniteCheck::inf}) {
    const CompileRequest request{.program = "p",
                                 .debug = {.print = true, .check_finite = check, .device_asserts = true}};
    const Expected<CompileRequest> parsed = parseCompileRequest(serialize(request));
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(parsed->debug, request.debug);
  }
}

TEST(Artifact, AnOlderFormatIsRefused) {
  std::string text = serialize(Artifact());
  text.replace(text.find("artifact 8"), 10, "artifact 7");
  EXPECT_FALSE(parseArtifact(text).ok());
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
    EXPECT_EQ(schedule.status().code(), ErrorCode::invalid_argument);
  }
  EXPECT_EQ(parseSchedule("block_k=3").status().message(),
            "schedule: 'block_k=3' is not name=value with a name of block_m, block_n, num_warps, num_stages, roles, "
            "overlap, optimistic_softmax, lhs_in_registers, add_by_tma, steps, instances_per_sm, heads_in_l2, "
            "tile_scheduler");
}

TEST(Schedule, ErrorsListTheLegalValues) {
  EXPECT_EQ(parseSchedule("block_m=3x").status().message(),
            "schedule: 'block_m=3x' needs a whole number from 0 on after '='");
  EXPECT_EQ(parseSchedule("roles=2").status().message(), "schedule: 'roles=2' needs none or load after '='");
  EXPECT_EQ(parseSchedule("optimistic_softmax=1").status().message(),
            "schedule: 'optimistic_softmax=1' needs false or true after '='");
  EXPECT_EQ(
      parseSchedule("tile_scheduler=persistent").status().message(),
      "schedule: 'tile_scheduler=persistent' needs single_tile, static_persistent or dynamic_persistent after '='");
}

TEST(Schedule, StepsAreWordsInQuotationMarks) {
  const Expected<Schedule> spaced = parseSchedule("steps=\" s  o@1\t\" num_stages=3");
  ASSERT_TRUE(spaced.ok()) << spaced.status().message();
  EXPECT_EQ(*spaced, (Schedule{.num_stages = 3, .steps = "s o@1"}));
  EXPECT_EQ(toString(*spaced), "num_stages=3 steps=\"s o@1\"");
  EXPECT_EQ(parseSchedule("steps=s o@1").status().message(),
            "schedule: 'steps=s' needs a step list in quotation marks, such as \"s o@1\", after '='");
  for (const char *text : {"steps=\"\"", "steps=\" \"", "steps=\"s", "steps=s\"", "steps=\"s\"o\"", "steps=\""})
    EXPECT_FALSE(parseSchedule(text).ok()) << text;
}

TEST(Schedule, FormerNamesAreRefusedWithTheNewOnes) {
  const std::pair<const char *, const char *> renamed[] = {
      {"num_roles=2", "roles=none for 1 and roles=load for 2"},
      {"num_products=2", "overlap=none for 1 and overlap=pingpong for 2"},
      {"num_attempts=2", "optimistic_softmax=false for 1 and optimistic_softmax=true for 2"},
      {"held_operands=2", "lhs_in_registers=false for 1 and lhs_in_registers=true for 2"},
      {"heads_per_group=8", "heads_in_l2"},
      {"persistent=1", "tile_scheduler=single_tile for 0, static_persistent for 1 and dynamic_persistent for 2"}};
  for (auto [word, instead] : renamed)
    EXPECT_EQ(parseSchedule(word).status().message(),
              "schedule: '" + std::string(word) + "' has another name: write " + instead);
}

TEST(Schedule, TextsOfAllFieldsAreParsedBack) {
  const Schedule schedule{.block_m = 64,
                          .block_n = 32,
                          .num_warps = 4,
                          .num_stages = 2,
                          .roles = Roles::load,
                          .overlap = Overlap::none,
                          .optimistic_softmax = false,
                          .lhs_in_registers = true,
                          .add_by_tma = true,
                          .steps = "< s o@1 >",
                          .instances_per_sm = 3,
                          .heads_in_l2 = 8,
                          .tile_scheduler = TileScheduler::dynamic_persistent};
  EXPECT_EQ(toString(schedule), "block_m=64 block_n=32 num_warps=4 num_stages=2 roles=load overlap=none "
                                "optimistic_softmax=false lhs_in_registers=true add_by_tma=true steps=\"< s o@1 >\" "
                                "instances_per_sm=3 heads_in_l2=8 tile_scheduler=dynamic_persistent");
  EXPECT_EQ(*parseSchedule(toString(schedule)), schedule);
}

} // namespace
