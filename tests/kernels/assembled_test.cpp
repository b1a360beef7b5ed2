// SPDX-License-Identifier: MIT
// Checks the machine code that ptxas makes of schedules with a producer: no serialised MMAs, no spills, and the order
// of events that the schedule asks for.
#include "compiler/client/InProcessCompiler.h"
#include "kernels/schedules.h"
#include "sass/checks.h"
#include "sass/fences.h"
#include "support/missing_tool.h"
#include "tegula/attention.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace tegula {
namespace {

using testing::FenceLoss;
using ::testing::IsEmpty, ::testing::SizeIs;

const Target kHopper = {"cuda", "sm_90a", ""};

std::string nameOf(const ShippedSchedule &shipped) {
  const auto &[problem, schedule] = shipped;
  std::string name = "D" + std::to_string(problem.head_dim) + "_" + std::string(toString(problem.dtype)) +
                     (problem.causal == Causal::none ? "" : "_causal") + "_" + std::to_string(schedule.block_m) + "x" +
                     std::to_string(schedule.block_n) +
                     (problem.variant.name.empty() ? "" : "_" + problem.variant.name);
  name += schedule.heads_in_l2 > 1 ? "_groups_of_" + std::to_string(schedule.heads_in_l2) : "";
  name += schedule.optimistic_softmax == true ? "_optimistic" : "";
  return name + (schedule.tile_scheduler == TileScheduler::dynamic_persistent  ? "_dynamic"
                 : schedule.tile_scheduler == TileScheduler::static_persistent ? "_static"
                                                                               : "");
}

/// Returns the shipped schedules with a producer. If a static persistent schedule ships for plain attention, the
/// dynamic persistent version of it is added, unless it has three warpgroups. Three warpgroups leave a producer 32
/// registers, too few for work indices that ptxas does not know to be uniform. With `mustOverlap`, returns only
/// schedules with ping-pong.
std::vector<ShippedSchedule> schedulesWithRoles(bool mustOverlap = false) {
  std::vector<ShippedSchedule> schedules = shippedSchedules(kHopper, "flash2_forward");
  for (size_t i = 0, shipped = schedules.size(); i < shipped; ++i) {
    ShippedSchedule dynamic = schedules[i];
    dynamic.schedule.tile_scheduler = TileScheduler::dynamic_persistent;
    const bool ships = std::any_of(schedules.begin(), schedules.end(),
                                   [&](const ShippedSchedule &other) { return nameOf(other) == nameOf(dynamic); });
    if (schedules[i].schedule.tile_scheduler == TileScheduler::static_persistent && dynamic.schedule.num_warps <= 8 &&
        dynamic.problem.variant.name.empty() && !ships)
      schedules.push_back(dynamic);
  }
  std::erase_if(schedules, [&](const ShippedSchedule &shipped) {
    return shipped.schedule.roles != Roles::load || (mustOverlap && shipped.schedule.overlap != Overlap::pingpong);
  });
  return schedules;
}

Expected<CompileRequest> requestFor(const ShippedSchedule &shipped) {
  const std::string_view name = shipped.problem.backward ? "flash2_backward" : "flash2_forward";
  Expected<KernelConfig> resolved = resolve(shipped.problem, name, kHopper, shipped.schedule);
  if (!resolved)
    return resolved.status();
  Expected<Program> program = findAttentionProgram(name)->record(resolved->config);
  if (!program)
    return program.status();
  return CompileRequest{program->text, resolved->schedule, kHopper, ""};
}

/// Compiles up to the phase `emit`; up to machine code if `emit` is empty.
Expected<Artifact> compile(const ShippedSchedule &shipped, const std::string &emit = "") {
  Expected<CompileRequest> request = requestFor(shipped);
  if (!request)
    return request.status();
  request->emit = emit;
  return makeInProcessCompiler()->compile(*request);
}

/// Returns the order of one iteration that the schedule asks for, in the words of testing::orderOf. With ping-pong,
/// each warpgroup starts both MMAs while it has the mutex, and computes P while the MMAs of the others run. Without
/// ping-pong, it computes P between the two MMAs. The wait for the next MMA's tile comes as early as possible, but
/// after the wait for the tile of a variant's tensor, which is then in registers. The optimistic softmax may compute
/// scores again, so it releases K after the exponentials.
std::string declaredOrder(const ShippedSchedule &shipped) {
  const Schedule &schedule = shipped.schedule;
  const std::vector<VariantTensor> &tensors = shipped.problem.variant.tensors;
  const bool hasTile = !tensors.empty() && tensors[0].axes.back() == Axis::seqlen_k,
             mayRepeat = schedule.optimistic_softmax == true;
  const bool isSequenced = schedule.num_warps > 4; // A single warpgroup needs no mutex.
  const std::string tile = hasTile ? "consumer_wait, " : "";
  if (schedule.overlap == Overlap::pingpong)
    return std::string("consumer_wait, ") + (isSequenced ? "sequence_wait, " : "") +
           "product, consumer_wait, product, " + (isSequenced ? "sequence_arrive, " : "") + tile + "wait 1, " +
           (mayRepeat && hasTile ? "exponentials, wait 0, release, release" // K and the tile together.
            : mayRepeat          ? "exponentials, release, wait 0, release"
            : hasTile            ? "release, wait 0, release, release, exponentials"
                                 : "release, wait 0, release, exponentials");
  return "consumer_wait, product, " + tile + "wait 0, " +
         (hasTile     ? "release, consumer_wait, release, exponentials"
          : mayRepeat ? "consumer_wait, exponentials, release"
                      : "consumer_wait, release, exponentials") +
         ", product, wait 0, release";
}

class Assembled : public ::testing::TestWithParam<ShippedSchedule> {};

TEST_P(Assembled, AsTheScheduleDeclares) {
  const Schedule &schedule = GetParam().schedule;
  Expected<Artifact> artifact = compile(GetParam());
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  if (artifact->report.assembler.empty())
    return missingTool("ptxas");
  EXPECT_THAT(artifact->report.notes, IsEmpty()); // C75xx: ptxas serialised MMAs or added waits.
  EXPECT_EQ(artifact->report.spill_bytes, 0);
  EXPECT_EQ(artifact->report.stack_bytes, 0);

  if (testing::findDisassembler().empty())
    return missingTool("nvdisasm");
  Expected<std::string> listing = testing::disassemble(artifact->binary);
  ASSERT_TRUE(listing.ok()) << listing.status().message();
  Expected<testing::Sass> sass = testing::Sass::parse(*listing);
  ASSERT_TRUE(sass.ok()) << sass.status().message();
  // ptxas moves softcap's factor, scale / cap, to a uniform register in the first MMA of a block of queries.
  const std::string shuffles = testing::interruptedMmas(*sass);
  EXPECT_LE(std::count(shuffles.begin(), shuffles.end(), '\n'), GetParam().problem.variant.name == "softcap")
      << shuffles;
  EXPECT_THAT(testing::touchedInFlight(*sass), IsEmpty());
  EXPECT_THAT(testing::sharedFragments(*sass), IsEmpty());

  const std::vector<testing::SassLoop> loops = sass->productLoops();
  ASSERT_THAT(loops, SizeIs(1));
  EXPECT_EQ(testing::orderOf(*sass, loops[0]), declaredOrder(GetParam()));
  const int threads = 32 * schedule.num_warps;
  EXPECT_GE(testing::countOf(*sass, loops[0], "MUFU.EX2"), schedule.block_m * schedule.block_n / threads);
}

/// The test that no combination of masks, variants and lengths spills: combinations need different numbers of
/// registers.
class Combinations : public ::testing::TestWithParam<std::tuple<int, DType>> {
protected:
  void spillsNothing(const AttentionProblem &problem) {
    const ShippedSchedule chosen{problem, chooseSchedule(kHopper, "flash2_forward", problem, {}, nullptr)};
    SCOPED_TRACE(nameOf(chosen));
    Expected<CompileRequest> request = requestFor(chosen);
    ASSERT_TRUE(request.ok()) << request.status().message();
    if (!known_.insert(toString(request->schedule) + request->program).second)
      return;
    Expected<Artifact> artifact = makeInProcessCompiler()->compile(*request);
    ASSERT_TRUE(artifact.ok()) << artifact.status().message();
    if (artifact->report.assembler.empty())
      return missingTool("ptxas");
    EXPECT_EQ(artifact->report.spill_bytes, 0);
    EXPECT_THAT(artifact->report.notes, IsEmpty());
  }

private:
  std::set<std::string> known_; ///< Schedules and programs that were compiled before.
};

TEST_P(Combinations, SpillNothing) {
  const auto [dim, dtype] = GetParam();
  for (auto [alignment, causal] :
       {std::pair(Alignment::top_left, Causal::top_left), std::pair(Alignment::bottom_right, Causal::bottom_right)})
    for (const Variant &variant : {Variant(), softcap(30), alibi(alignment), slidingWindow(1024, 0, alignment),
                                   prefixLm(alignment), documents(), additiveBias(dtype)})
      for (Causal mask : {Causal::none, causal})
        for (int64_t keys : {512, 1024, 2048, 4096, 8192, 16384}) {
          AttentionProblem problem{
              .dtype = dtype, .head_dim = dim, .value_dim = dim, .causal = mask, .variant = variant};
          problem.expected.seqlen_k = keys;
          spillsNothing(problem);
          if (IsSkipped() || HasFatalFailure())
            return;
        }
}

/// Leaves out the kernels of f16: they have the synchronisation of those of bf16.
std::vector<ShippedSchedule> ofBf16(std::vector<ShippedSchedule> schedules) {
  std::erase_if(schedules, [](const ShippedSchedule &shipped) { return shipped.problem.dtype == f16; });
  return schedules;
}

/// The test of mutants that no run in the simt executor detects (tests/simt/mutants). ptxas reports these mutants, or
/// makes the same machine code of them.
class Mutated : public ::testing::TestWithParam<ShippedSchedule> {
protected:
  void SetUp() override {
    Expected<Artifact> artifact = compile(GetParam(), "ptx");
    ASSERT_TRUE(artifact.ok()) << artifact.status().message();
    ptx = artifact->text;
    if (!testing::hasAssembler())
      return missingTool("ptxas");
  }

  static std::vector<std::string> sharedOpcodes(const std::string &text) {
    Expected<std::vector<std::string>> opcodes = testing::sharedOpcodes(text);
    EXPECT_TRUE(opcodes.ok()) << opcodes.status().message();
    return opcodes ? *opcodes : std::vector<std::string>();
  }

  std::string ptx;
};

/// Replaces each `from` in `text` and returns the number of replacements.
int replaceAll(std::string &text, const std::string &from, const std::string &to) {
  int count = 0;
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size(), ++count)
    text.replace(at, from.size(), to);
  return count;
}

TEST_P(Mutated, ArrivalsAndWaitsThatOrderNoMemoryAreTheSameCode) {
  if (testing::findDisassembler().empty())
    return missingTool("nvdisasm");
  const size_t version = ptx.find(".version ");
  ptx.replace(version, ptx.find('\n', version) - version, ".version 8.6"); // The first version that has both forms.
  std::string weaker = ptx;
  EXPECT_GT(replaceAll(weaker, "mbarrier.arrive.shared::cta", "mbarrier.arrive.relaxed.cta.shared::cta"), 1);
  EXPECT_GT(replaceAll(weaker, "try_wait.parity.shared::cta", "try_wait.parity.relaxed.cta.shared::cta"), 1);
  const std::vector<std::string> opcodes = sharedOpcodes(ptx);
  EXPECT_GT(std::count_if(opcodes.begin(), opcodes.end(), [](const auto &name) { return name.starts_with("SYNCS"); }),
            4);
  EXPECT_EQ(sharedOpcodes(weaker), opcodes);
}

class MutatedMmas : public Mutated {
protected:
  FenceLoss lossOf(const std::string &text) {
    Expected<FenceLoss> loss = testing::lossOf(ptx, text);
    EXPECT_TRUE(loss.ok()) << loss.status().message();
    return loss ? *loss : FenceLoss::unnoticed;
  }
};

TEST_P(MutatedMmas, ThatOverlapNeedAFenceEach) {
  const std::vector<std::string> texts = testing::withoutAFence(ptx);
  ASSERT_THAT(texts, SizeIs(1));
  EXPECT_EQ(lossOf(texts.front()), FenceLoss::noticed);
}

class MutatedBackward : public MutatedMmas {};

/// dP starts while S runs, with ping-pong both before the loop and in it. The other MMAs share one fence.
TEST_P(MutatedBackward, MmasThatStartAfterAWaitNeedAFenceEach) {
  const std::vector<std::string> texts = testing::withoutAFence(ptx);
  ASSERT_THAT(texts, SizeIs(GetParam().schedule.overlap == Overlap::pingpong ? 2 : 1));
  for (const std::string &text : texts)
    EXPECT_EQ(lossOf(text), FenceLoss::noticed);
}

std::vector<ShippedSchedule> backwardWithRoles() {
  std::vector<ShippedSchedule> schedules = shippedSchedules(kHopper, "flash2_backward");
  std::erase_if(schedules, [](const ShippedSchedule &shipped) { return shipped.schedule.roles != Roles::load; });
  for (ShippedSchedule &shipped : schedules)
    shipped.problem.backward = true;
  return schedules;
}

INSTANTIATE_TEST_SUITE_P(Hopper, Assembled, ::testing::ValuesIn(schedulesWithRoles()),
                         [](const auto &info) { return nameOf(info.param); });
INSTANTIATE_TEST_SUITE_P(Hopper, Combinations,
                         ::testing::Combine(::testing::Values(64, 128, 256), ::testing::Values(f16, bf16)),
                         [](const auto &info) {
                           return "D" + std::to_string(std::get<0>(info.param)) + "_" +
                                  std::string(toString(std::get<1>(info.param)));
                         });
INSTANTIATE_TEST_SUITE_P(Hopper, Mutated, ::testing::ValuesIn(ofBf16(schedulesWithRoles())),
                         [](const auto &info) { return nameOf(info.param); });
INSTANTIATE_TEST_SUITE_P(Hopper, MutatedMmas, ::testing::ValuesIn(ofBf16(schedulesWithRoles(/*mustOverlap=*/true))),
                         [](const auto &info) { return nameOf(info.param); });

INSTANTIATE_TEST_SUITE_P(Hopper, MutatedBackward, ::testing::ValuesIn(backwardWithRoles()),
                         [](const auto &info) { return nameOf(info.param); });

/// There are two head dimensions, two element types, two masks, and persistent schedules.
TEST(ShippedSchedules, HaveRolesOnHopper) { EXPECT_GE(schedulesWithRoles().size(), 10u); }

} // namespace
} // namespace tegula
