// SPDX-License-Identifier: MIT
// Tests clusters: barriers between program instances, and accesses to the shared memory of another instance.
#include "lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tegula;
using namespace tegula::test;

namespace {

constexpr uint32_t kCluster = 4;

/// Returns an address in the shared memory of the instance `rank`.
uint32_t at(uint32_t rank, uint32_t byte) { return (rank + 1) << kSimtRankShift | (kSimtSharedBase + byte); }

enum class Defect { None, NoBarrier, NoWait, LeavesEarly, WaitsTwice };

/// Writes to the instance's own shared memory, and reads what the next instance has written.
template <Defect Which> void readNeighbour(const Me &me) {
  const uint32_t next = (me.rank() + 1) % kCluster,
                 program = me.ops->special(me.lane, uint32_t(SimtRegister::program_x));
  me.write(2, 4 * me.thread(), 100 * program + me.thread());
  if (Which != Defect::NoBarrier) {
    me.ops->cluster_arrive(me.lane, 3);
    if (Which != Defect::NoWait)
      me.ops->cluster_wait(me.lane, 4);
  }
  uint32_t value = 0;
  me.ops->load_shared(me.lane, 5, 1, at(next, 4 * (63 - me.thread())), 4, &value);
  me.store(64 * program + me.thread(), value);
  if (Which == Defect::LeavesEarly)
    return;
  if (Which != Defect::NoWait)
    me.ops->cluster_arrive(me.lane, 6);
  me.ops->cluster_wait(me.lane, 7);
  if (Which == Defect::WaitsTwice)
    me.ops->cluster_wait(me.lane, 8);
}

Run runOf(SimtKernel kernel, const SimtInterleaving &schedule) {
  Run run{.kernel = kernel, .in = {0}, .out_words = 64 * 8, .threads = 64, .schedule = schedule, .instances = 8};
  run.cluster = kCluster;
  return run;
}

TEST(SimtCluster, InstancesReadEachOthersMemory) {
  for (uint32_t i = 0; i < 40; ++i) {
    const auto out = results(
        runOf(asKernel<readNeighbour<Defect::None>>, {.scheduler = SimtScheduler(i % kSimtSchedulers), .seed = i}));
    for (uint32_t program = 0; program < 8; ++program)
      for (uint32_t thread = 0; thread < 64; ++thread)
        ASSERT_EQ(uint32_t(out[64 * program + thread]),
                  100 * (program / kCluster * kCluster + (program + 1) % kCluster) + 63 - thread);
  }
}

template <Defect Which> void expectFound(SimtErrorKind fault, const std::string &text) {
  for (uint32_t scheduler = 0; scheduler < 4; ++scheduler) {
    std::vector<SimtFinding> found;
    for (uint64_t seed = 0; seed < 10 && found.empty(); ++seed)
      found =
          run(runOf(asKernel<readNeighbour<Which>>, {.scheduler = SimtScheduler(scheduler), .seed = seed})).findings;
    EXPECT_THAT(found,
                testing::Contains(testing::AllOf(testing::Field(&SimtFinding::fault, fault),
                                                 testing::Field(&SimtFinding::message, testing::HasSubstr(text)))));
  }
}

TEST(SimtCluster, ReadsWithoutABarrier) {
  expectFound<Defect::NoBarrier>(SimtErrorKind::race, "race on shared memory");
  expectFound<Defect::NoWait>(SimtErrorKind::race, "race on shared memory");
}
TEST(SimtCluster, MemoryOfAnInstanceThatHasEnded) {
  expectFound<Defect::LeavesEarly>(SimtErrorKind::out_of_bounds, "of a program instance that has ended");
}
TEST(SimtCluster, WaitsWithoutAnArrival) {
  expectFound<Defect::WaitsTwice>(SimtErrorKind::barrier_misuse, "without having arrived");
}

/// Instance 0 counts the arrivals of all other instances at its own mbarrier.
void arriveRemotely(const Me &me) {
  if (me.rank() == 0 && me.thread() == 0)
    me.ops->mbarrier_init(me.lane, 2, 1, kSimtSharedBase, 32 * (kCluster - 1));
  me.ops->cluster_arrive(me.lane, 3);
  me.ops->cluster_wait(me.lane, 4);
  if (me.rank() == 0) {
    me.ops->mbarrier_wait(me.lane, 5, kSimtSharedBase, 0, 1);
    for (uint32_t from = 1; from < kCluster; ++from)
      me.store(32 * from + me.thread(), me.read(6, 128 * from + 4 * me.thread()));
  } else {
    const uint32_t value = 1000 * me.rank() + me.thread();
    me.ops->store_shared(me.lane, 7, 1, at(0, 128 * me.rank() + 4 * me.thread()), 4, &value);
    me.ops->mbarrier_arrive(me.lane, 8, 1, at(0, 0), 1, 0);
  }
}
TEST(SimtCluster, ArrivalsAtAnotherInstancesMbarrier) {
  for (uint32_t i = 0; i < 20; ++i) {
    ::tegula::test::Run lanes{.kernel = asKernel<arriveRemotely>,
                              .in = {0},
                              .out_words = 128,
                              .schedule = {.scheduler = SimtScheduler(i % kSimtSchedulers), .seed = i},
                              .instances = kCluster};
    lanes.cluster = kCluster;
    const auto out = results(lanes);
    for (uint32_t from = 1; from < kCluster; ++from)
      for (uint32_t thread = 0; thread < 32; ++thread)
        ASSERT_EQ(uint32_t(out[32 * from + thread]), 1000 * from + thread);
  }
}

} // namespace
