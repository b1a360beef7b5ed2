// SPDX-License-Identifier: MIT
// What the assembler made of the schedules that ship with roles: nothing serial, nothing spilled, and the order that
// the schedule asks for.
#include "compiler/client/InProcessCompiler.h"
#include "kernels/schedules.h"
#include "sass/checks.h"
#include "tegula/attention.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace tegula {
namespace {

using ::testing::IsEmpty, ::testing::SizeIs;

const Target kHopper = {"cuda", "sm_90a", ""};

std::vector<ShippedSchedule> schedulesWithRoles() {
  std::vector<ShippedSchedule> schedules = shippedSchedules(kHopper, "flash2_forward");
  std::erase_if(schedules, [](const ShippedSchedule &shipped) { return shipped.schedule.num_roles != 2; });
  return schedules;
}

Expected<Artifact> assemble(const ShippedSchedule &shipped) {
  Expected<AttentionRecipe> recipe = resolve(shipped.problem, "flash2_forward", kHopper, shipped.schedule);
  if (!recipe)
    return recipe.status();
  Expected<Program> program = findAttentionProgram("flash2_forward")->record(recipe->config);
  if (!program)
    return program.status();
  return makeInProcessCompiler()->compile({program->text, recipe->schedule, kHopper, ""});
}

/// Warpgroups in turn start both products, and compute weights while the others' run; else weights lie between two
/// products. The tile of the next product is received as early as possible, and so is that of a variant's tensor, which
/// is released when it is in registers.
std::string declaredOrder(const ShippedSchedule &shipped) {
  const std::vector<VariantTensor> &tensors = shipped.problem.variant.tensors;
  const bool hasTile = !tensors.empty() && tensors[0].axes.back() == Axis::seqlen_k;
  const std::string tile = hasTile ? "receive, release, release" : "release";
  if (shipped.schedule.num_products == 2)
    return "receive, turn, product, receive, product, pass, wait 1, " + tile + ", wait 0, release, exponentials";
  return "receive, product, wait 0, receive, " + tile + ", exponentials, product, wait 0, release";
}

std::string nameOf(const ShippedSchedule &shipped) {
  const auto &[problem, schedule] = shipped;
  std::string name = "D" + std::to_string(problem.head_dim) + "_" + std::string(toString(problem.dtype)) +
                     (problem.causal == Causal::none ? "" : "_causal") + "_" + std::to_string(schedule.block_m) +
                     (problem.variant.name.empty() ? "" : "_" + problem.variant.name);
  return schedule.persistent != 0 ? name + "_in_turns" : name;
}

class Assembled : public ::testing::TestWithParam<ShippedSchedule> {};

TEST_P(Assembled, AsTheScheduleDeclares) {
  const Schedule &schedule = GetParam().schedule;
  Expected<Artifact> artifact = assemble(GetParam());
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  if (artifact->report.assembler.empty())
    GTEST_SKIP() << "no ptxas is on this machine";
  EXPECT_THAT(artifact->report.notes, IsEmpty()); // C75xx: products made serial, waits added.
  EXPECT_EQ(artifact->report.spill_bytes, 0);
  EXPECT_EQ(artifact->report.stack_bytes, 0);

  if (testing::findDisassembler().empty())
    GTEST_SKIP() << "no nvdisasm is on this machine";
  Expected<std::string> listing = testing::disassemble(artifact->binary);
  ASSERT_TRUE(listing.ok()) << listing.status().message();
  Expected<testing::Sass> sass = testing::Sass::parse(*listing);
  ASSERT_TRUE(sass.ok()) << sass.status().message();
  // The assembler moves softcap's factor, scale / cap, to a uniform register in the first product of a block of
  // queries.
  const std::string shuffles = testing::interruptedProducts(*sass);
  EXPECT_LE(std::count(shuffles.begin(), shuffles.end(), '\n'), GetParam().problem.variant.name == "softcap")
      << shuffles;
  EXPECT_THAT(testing::touchedInFlight(*sass), IsEmpty());
  EXPECT_THAT(testing::sharedFragments(*sass), IsEmpty());

  const std::vector<testing::SassLoop> loops = sass->productLoops();
  ASSERT_THAT(loops, SizeIs(1));
  EXPECT_EQ(testing::orderOf(*sass, loops[0]), declaredOrder(GetParam()));
  const int threads = 32 * schedule.num_warps;
  EXPECT_GE(testing::exponentialsOf(*sass, loops[0]), schedule.block_m * schedule.block_n / threads);
}

INSTANTIATE_TEST_SUITE_P(Hopper, Assembled, ::testing::ValuesIn(schedulesWithRoles()),
                         [](const auto &info) { return nameOf(info.param); });

/// Two head dimensions, element types and masks, and those in turns.
TEST(ShippedSchedules, HaveRolesOnHopper) { EXPECT_GE(schedulesWithRoles().size(), 10u); }

} // namespace
} // namespace tegula
