// SPDX-License-Identifier: MIT
// Tests which schedule is used if the caller gives none, or only some of its fields.
#include "kernels/kernel_config.h"
#include "kernels/schedules.h"
#include "tegula/tuned_schedules.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

namespace tegula {
namespace {

const AttentionProblem kProblem{.dtype = bf16, .head_dim = 128, .value_dim = 128};

Schedule chosen(const char *arch, const Schedule &given) {
  return chooseSchedule({"cuda", arch, ""}, "flash2_forward", kProblem, given, nullptr);
}

TEST(ChooseSchedule, RolesAreForHopper) {
  EXPECT_EQ(chosen("sm_90a", {}).roles, Roles::load);
  EXPECT_EQ(chosen("sm_90", {}).roles, Roles::none);
  EXPECT_EQ(chosen("sm_80", {}).roles, Roles::none);
}

TEST(ChooseSchedule, TilesAndWarpsOfTheCallerAgainstThoseOfTheRowLeaveNoRoles) {
  const Schedule without = chosen("sm_90", {});
  for (int Schedule::*field : {&Schedule::block_m, &Schedule::block_n, &Schedule::num_warps, &Schedule::num_stages}) {
    Schedule given, expected = without;
    given.*field = expected.*field = 16;
    EXPECT_EQ(toString(chosen("sm_90a", given)), toString(expected));
  }
}

TEST(ChooseSchedule, SmallTilesHaveNoWarpWithoutWork) {
  EXPECT_EQ(chosen("sm_90", {}).num_warps, 4);
  for (auto [block_m, block_n, warps] : {std::array{16, 16, 1}, {32, 16, 2}, {16, 48, 2}, {32, 32, 4}, {64, 64, 4}})
    EXPECT_EQ(chosen("sm_90", {.block_m = block_m, .block_n = block_n}).num_warps, warps);
}

TEST(ChooseSchedule, AFieldThatSuitsTheRowKeepsItsRoles) {
  const Schedule whole = chosen("sm_90a", {});
  for (const Schedule &given :
       {Schedule{.block_m = whole.block_m}, Schedule{.num_warps = whole.num_warps}, Schedule{.num_stages = 1},
        Schedule{.num_stages = 4}, Schedule{.roles = Roles::load}, Schedule{.optimistic_softmax = false},
        Schedule{.overlap = Overlap::none}, Schedule{.heads_in_l2 = 4}})
    EXPECT_EQ(toString(chosen("sm_90a", given)), toString(filled(given, whole)));
}

TEST(ChooseSchedule, ProgramsOfListsTakeNoFieldsForTilesOfScores) {
  AttentionProblem problem = kProblem;
  problem.block_mask.source = BlockMask::Source::given;
  problem.deterministic = true;
  const Target target{"cuda", "sm_90a", ""};
  const Schedule given{.block_m = 64, .roles = Roles::load, .overlap = Overlap::pingpong};
  for (const char *program : {"block_states", "visit_lists", "visit_order", "visit_ranks"})
    EXPECT_EQ(toString(resolve(problem, program, target, given, nullptr)->schedule),
              toString(resolve(problem, program, target, {}, nullptr)->schedule))
        << program;
  EXPECT_EQ(resolve(problem, "tile_states_of_queries", target, given, nullptr)->schedule.block_m, 64);
}

TEST(ChooseSchedule, ProgramsWithoutALoopHaveNoRoles) {
  AttentionProblem problem = kProblem;
  problem.backward = true;
  const Schedule given{.block_m = 64, .roles = Roles::load, .overlap = Overlap::pingpong};
  for (const char *program : {"flash2_backward_preprocess", "flash2_backward_postprocess"}) {
    const Schedule found = resolve(problem, program, {"cuda", "sm_90a", ""}, given, nullptr)->schedule;
    EXPECT_EQ(found.block_m, 64);
    EXPECT_EQ(found.roles, Roles::none);
    EXPECT_EQ(found.overlap, Schedule{}.overlap);
  }
}

TEST(ChooseSchedule, RolesThatAreGivenStay) {
  const Schedule given{.block_m = 256,
                       .num_warps = 16,
                       .roles = Roles::load,
                       .overlap = Overlap::pingpong,
                       .tile_scheduler = TileScheduler::static_persistent};
  const Schedule without = chosen("sm_90", {});
  Schedule expected = given;
  expected.block_n = without.block_n;
  expected.num_stages = without.num_stages;
  EXPECT_EQ(toString(chosen("sm_90a", given)), toString(expected));
}

TEST(ChooseSchedule, RolesWithOtherTilesHaveNoOverlapAndNoAdditionsByTma) {
  const Schedule given{.block_m = 256, .roles = Roles::load};
  const Schedule forward = chosen("sm_90a", given);
  EXPECT_EQ(forward.overlap, Overlap::none);
  EXPECT_EQ(forward.add_by_tma, std::nullopt);
  const Schedule backward = chooseSchedule({"cuda", "sm_90a", ""}, "flash2_backward", kProblem, given, nullptr);
  EXPECT_EQ(backward.overlap, Overlap::none);
  EXPECT_EQ(backward.add_by_tma, false);
}

TEST(ChooseSchedule, ATuningThatNamesNoRolesHadNone) {
  TunedConfigurations all;
  all.add({"flash2_forward", problemClass(kProblem), attentionSizes(kProblem.expected), "block_m=48 block_n=48"});
  EXPECT_EQ(chooseSchedule({"cuda", "sm_90a", ""}, "flash2_forward", kProblem, {}, &all).roles, Roles::none);
  EXPECT_EQ(chooseSchedule({"cpu", "", ""}, "flash2_forward", kProblem, {}, &all).roles, std::nullopt);
}

/// Returns two schedules of the problem's forward kernel: first if a tuning for `tuned` is known, then as it ships.
std::pair<std::string, std::string> chosenAfter(const AttentionProblem &tuned, const AttentionProblem &problem) {
  const Target target = {"cuda", "sm_90a", ""};
  TunedConfigurations all;
  all.add({"flash2_forward", problemClass(tuned), attentionSizes(tuned.expected), "block_m=48 block_n=48"});
  return {toString(chooseSchedule(target, "flash2_forward", problem, {}, &all)),
          toString(chooseSchedule(target, "flash2_forward", problem, {}, nullptr))};
}

TEST(ChooseSchedule, ATuningOfPlainAttentionLeavesVariantsTheirRows) {
  for (const Variant &variant : {softcap(30), alibi(Alignment::top_left), additiveBias(bf16),
                                 slidingWindow(1024, 0, Alignment::top_left), prefixLm(Alignment::top_left)}) {
    AttentionProblem modified = kProblem;
    modified.variant = variant;
    const auto [chosen, shipped] = chosenAfter(kProblem, modified);
    EXPECT_EQ(chosen, shipped) << variant.name;
    EXPECT_NE(chosenAfter(modified, modified).first, shipped) << variant.name;
  }
}

TEST(ChooseSchedule, ATuningOfADecodeStepLeavesPrefillsTheirRows) {
  AttentionProblem decode = kProblem;
  decode.expected.seqlen_q = 1;
  for (int64_t queries : {32, 512, 4096}) {
    AttentionProblem prefill = kProblem;
    prefill.expected.seqlen_q = queries;
    const auto [chosen, shipped] = chosenAfter(decode, prefill);
    EXPECT_EQ(chosen, shipped) << queries;
  }
  EXPECT_NE(chosenAfter(decode, decode).first, chosenAfter(decode, decode).second);
}

TEST(ChooseSchedule, EachProblemOfAShippedScheduleMeetsIt) {
  for (const char *arch : {"sm_80", "sm_90", "sm_90a"}) {
    const Target target = {"cuda", arch, ""};
    for (std::string_view program : {"flash2_forward", "flash2_backward"}) {
      const std::vector<ShippedSchedule> shipped = shippedSchedules(target, program);
      EXPECT_GE(shipped.size(), 18u) << program; // 3 head dimensions, 3 element types, 2 masks.
      for (const auto &[problem, schedule] : shipped)
        EXPECT_EQ(chooseSchedule(target, program, problem, {}, nullptr), schedule) << program << toString(schedule);
    }
  }
}

} // namespace
} // namespace tegula
