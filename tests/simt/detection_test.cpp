// SPDX-License-Identifier: MIT
// Kernels with every class of error, and their correct twins. Every schedule finds the error, and nothing in the twin.
#include "lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tegula;
using namespace tegula::test;

namespace {

std::vector<SimtInterleaving> schedules() {
  std::vector<SimtInterleaving> all;
  for (uint32_t scheduler = 0; scheduler < kSimtSchedulers; ++scheduler)
    for (uint64_t seed = 0; seed < 10; ++seed)
      all.push_back({.scheduler = SimtScheduler(scheduler), .seed = seed});
  return all;
}

void expectClean(SimtKernel kernel) {
  for (const SimtInterleaving &schedule : schedules())
    results({.kernel = kernel, .in = randomWords(512, 1), .out_words = 512, .threads = 64, .schedule = schedule});
}

void expectFault(SimtKernel kernel, SimtErrorKind fault, const std::string &text) {
  for (const SimtInterleaving &schedule : schedules()) {
    const Outcome outcome =
        run({.kernel = kernel, .in = randomWords(512, 1), .out_words = 512, .threads = 64, .schedule = schedule});
    ASSERT_FALSE(outcome.findings.empty());
    EXPECT_THAT(outcome.findings,
                testing::Contains(testing::AllOf(testing::Field(&SimtFinding::fault, fault),
                                                 testing::Field(&SimtFinding::message, testing::HasSubstr(text)))));
  }
}

//===-- Races -----------------------------------------------------------------------------------------------------===//

/// Exchanges values with the lane `Distance` away, twice.
template <bool First, bool Second, uint32_t Distance> void exchange(const Me &me) {
  for (uint32_t round = 0; round < 2; ++round) {
    me.write(2, 4 * me.thread(), round);
    if (First)
      me.barrier(3);
    me.store(me.thread(), me.read(4, 4 * ((me.thread() + Distance) % 64)));
    if (Second)
      me.barrier(5);
  }
}

TEST(SimtDetection, BarriersOrderLanes) { expectClean(asKernel<exchange<true, true, 33>>); }
TEST(SimtDetection, ReadWithoutBarrierAfterWrite) {
  expectFault(asKernel<exchange<false, true, 33>>, SimtErrorKind::race, "without a barrier between");
}
TEST(SimtDetection, WriteWithoutBarrierAfterRead) {
  expectFault(asKernel<exchange<true, false, 33>>, SimtErrorKind::race, "(op2 at kernel.cpp:2)");
}
TEST(SimtDetection, LanesOfAWarpNeedOrderToo) {
  expectFault(asKernel<exchange<false, true, 1>>, SimtErrorKind::race, "race on shared memory");
}

template <bool Barrier> void exchangeInWarp(const Me &me) {
  me.write(2, 4 * me.thread(), 1);
  if (Barrier)
    me.ops->barrier_warp(me.lane, 3);
  else
    me.ops->shuffle(me.lane, 3, uint32_t(SimtShuffle::lane_xor), 0, 1); // A shuffle orders no memory.
  me.read(4, 4 * (me.thread() ^ 1));
}
TEST(SimtDetection, BarriersOfWarps) { expectClean(asKernel<exchangeInWarp<true>>); }
TEST(SimtDetection, ShufflesDoNotOrderMemory) {
  expectFault(asKernel<exchangeInWarp<false>>, SimtErrorKind::race, "race on shared memory");
}

enum class Order { barrier, sequence };

/// The first warp writes, and the second warp reads after it.
template <Order Which> void writeThenRead(const Me &me) {
  const bool isSequence = Which == Order::sequence, isFirst = me.thread() < 32;
  if (isFirst)
    me.write(2, 4 * me.thread(), 1);
  const auto arrive = isSequence ? me.ops->sequence_arrive : me.ops->barrier_arrive;
  const auto wait = isSequence ? me.ops->sequence_wait : me.ops->barrier;
  (isFirst ? arrive : wait)(me.lane, 3, 1, 64);
  if (!isFirst)
    me.store(me.thread(), me.read(4, 4 * (me.thread() - 32)));
}
TEST(SimtDetection, WhoArrivesAtABarrierOrdersMemory) { expectClean(asKernel<writeThenRead<Order::barrier>>); }
/// The mutex between warpgroups orders no memory, so a clean kernel does not need it. Leaving it out gives another
/// schedule, not a mutant.
TEST(SimtDetection, SequencesDoNotOrderMemory) {
  expectFault(asKernel<writeThenRead<Order::sequence>>, SimtErrorKind::race, "race on shared memory");
}

/// The first warp arrives twice, and the second one does not come.
void arriveAgain(const Me &me) {
  for (int round = 0; round < 2 && me.thread() < 32; ++round)
    me.ops->barrier_arrive(me.lane, 3, 1, 64);
}
TEST(SimtDetection, WhoArrivesAgainAtABarrierWhereOthersAreMissing) {
  expectFault(asKernel<arriveAgain>, SimtErrorKind::barrier_misuse, "arrives again at barrier 1");
}

void waitForSequence(const Me &me) { me.ops->sequence_wait(me.lane, 3, 1, 64); }
TEST(SimtDetection, SequencesDoNotHoldUpARunaway) {
  auto findingsOf = [](SimtScheduler scheduler) {
    return run({.kernel = asKernel<waitForSequence>, .in = {0}, .schedule = {.scheduler = scheduler}}).findings;
  };
  EXPECT_THAT(findingsOf(SimtScheduler::priority),
              testing::Contains(testing::Field(&SimtFinding::fault, SimtErrorKind::deadlock)));
  EXPECT_THAT(findingsOf(SimtScheduler::runaway), testing::IsEmpty());
}

/// Neighbouring lanes write the halves of a word.
template <uint32_t Bytes> void writeHalves(const Me &me) {
  me.ops->store_shared(me.lane, 2, 1, kSimtSharedBase + 2 * me.thread(), 2, "ab");
  if (Bytes == 4 && me.thread() == 0)
    me.write(3, 0, 0);
}
TEST(SimtDetection, NeighbouringBytesAreApart) { expectClean(asKernel<writeHalves<2>>); }
TEST(SimtDetection, OverlappingBytesAreNot) { expectFault(asKernel<writeHalves<4>>, SimtErrorKind::race, "byte 2"); }

template <bool Same> void storeGlobally(const Me &me) { me.store(Same ? me.thread() / 2 : me.thread(), 1); }
TEST(SimtDetection, StoresToDifferentElements) { expectClean(asKernel<storeGlobally<false>>); }
TEST(SimtDetection, StoresToTheSameElement) {
  expectFault(asKernel<storeGlobally<true>>, SimtErrorKind::race, "tensor 'out'");
}

template <bool Store> void addGlobally(const Me &me) {
  if (Store && me.thread() == 40)
    me.store(0, 1);
  me.ops->atomic_add(me.lane, 2, 1, me.out(0), uint32_t(SimtAtomic::i32), 1, "\1\0\0");
}
TEST(SimtDetection, AtomicAdditionsDoNotRace) { expectClean(asKernel<addGlobally<false>>); }
TEST(SimtDetection, AStoreRacesWithAtomicAdditions) {
  expectFault(asKernel<addGlobally<true>>, SimtErrorKind::race, "atomic addition");
}

//===-- Turns -----------------------------------------------------------------------------------------------------===//

enum class TurnDefect { None, NoFirstBarrier, NoLastBarrier, Backwards };

/// Adds to one word in the order of program instances, twice.
template <TurnDefect Which> void takeTurns(const Me &me) {
  const auto program = int32_t(me.ops->special(me.lane, uint32_t(SimtRegister::program_x)));
  for (uint32_t counter : {0, 1}) {
    if (me.thread() == 0)
      me.ops->turn_wait(me.lane, 2, me.out(counter), Which == TurnDefect::Backwards ? 5 - program : program);
    if (Which != TurnDefect::NoFirstBarrier)
      me.barrier(3);
    me.ops->atomic_add(me.lane, 4, 1, me.out(2), uint32_t(SimtAtomic::i32), 1, "\1\0\0");
    if (Which != TurnDefect::NoLastBarrier)
      me.barrier(5);
    if (me.thread() == 0)
      me.ops->turn_pass(me.lane, 6, me.out(counter), program + 1);
  }
}

Outcome runTurns(SimtKernel kernel, const SimtInterleaving &schedule) {
  return run({.kernel = kernel,
              .in = {0},
              .out_words = 3,
              .threads = 64,
              .schedule = schedule,
              .instances = 5,
              .fill = 0,
              .takes_turns = true});
}

TEST(SimtDetection, InstancesTakeTurns) {
  for (const SimtInterleaving &schedule : schedules()) {
    const Outcome outcome = runTurns(asKernel<takeTurns<TurnDefect::None>>, schedule);
    EXPECT_THAT(outcome.findings, testing::IsEmpty());
    EXPECT_EQ(outcome.out, (std::vector<int32_t>{5, 5, 2 * 5 * 64}));
  }
}

/// An instance that waits for a later one may wait forever: a GPU does not start it before earlier ones have ended.
TEST(SimtDetection, TurnsOfLaterInstances) {
  for (const SimtInterleaving &schedule : schedules())
    EXPECT_THAT(runTurns(asKernel<takeTurns<TurnDefect::Backwards>>, schedule).findings,
                testing::Contains(testing::Field(&SimtFinding::fault, SimtErrorKind::deadlock)));
}

TEST(SimtDetection, AdditionsOutsideOfTheirTurns) {
  for (SimtKernel kernel :
       {asKernel<takeTurns<TurnDefect::NoFirstBarrier>>, asKernel<takeTurns<TurnDefect::NoLastBarrier>>})
    for (const SimtInterleaving &schedule : schedules())
      EXPECT_THAT(runTurns(kernel, schedule).findings,
                  testing::Contains(testing::Field(&SimtFinding::message,
                                                   testing::AnyOf(testing::HasSubstr("adds outside of its turn"),
                                                                  testing::HasSubstr("but additions of warp")))));
}

//===-- Program instances -----------------------------------------------------------------------------------------===//

template <bool Atomic> void storeInAllInstances(const Me &me) {
  const uint32_t place = Atomic ? 0 : me.thread();
  if (Atomic)
    me.ops->atomic_add(me.lane, 2, 1, me.out(place), uint32_t(SimtAtomic::i32), 1, "\1\0\0");
  else
    me.store(place, 1);
}
TEST(SimtDetection, InstancesMayAdd) {
  results({.kernel = asKernel<storeInAllInstances<true>>, .in = {0}, .instances = 5});
}
TEST(SimtDetection, InstancesMustNotStoreToTheSameElement) {
  const Outcome outcome =
      run({.kernel = asKernel<storeInAllInstances<false>>, .in = {0}, .out_words = 32, .instances = 5});
  ASSERT_EQ(outcome.findings.size(), 1U);
  EXPECT_THAT(outcome.findings.front().message, testing::HasSubstr("which nothing orders"));
}

//===-- Arrivals --------------------------------------------------------------------------------------------------===//

enum class ArrivalDefect { None, NoBarrier, NoArrival, NotLast };

/// Each instance stores in all threads, and the last one to arrive reads what all have stored.
template <ArrivalDefect Which> void arrives(const Me &me) {
  constexpr uint32_t instances = 5;
  me.store(2 + me.thread() + 64 * me.ops->special(me.lane, uint32_t(SimtRegister::program_x)), 1);
  if (Which != ArrivalDefect::NoBarrier)
    me.barrier(3);
  if (me.thread() != 0)
    return;
  const int32_t before = Which == ArrivalDefect::NoArrival
                             ? int32_t(instances) - 1
                             : me.ops->counter_arrive(me.lane, 4, me.out(0), instances - 1);
  if (before == int32_t(instances) - (Which == ArrivalDefect::NotLast ? 2 : 1))
    for (uint32_t word = 0, value = 0; word < 64 * instances; word += 63)
      me.ops->load(me.lane, 5, 1, me.out(2 + word), 4, &value);
}

std::vector<SimtFinding> findingsOfArrivals(SimtKernel kernel, const SimtInterleaving &schedule) {
  return run({.kernel = kernel,
              .in = {0},
              .out_words = 2 + 5 * 64,
              .threads = 64,
              .schedule = schedule,
              .instances = 5,
              .fill = 0})
      .findings;
}

TEST(SimtDetection, TheLastInstanceReadsWhatAllHaveStored) {
  for (const SimtInterleaving &schedule : schedules())
    EXPECT_THAT(findingsOfArrivals(asKernel<arrives<ArrivalDefect::None>>, schedule), testing::IsEmpty());
}

TEST(SimtDetection, StoresAfterAnArrival) {
  for (const SimtInterleaving &schedule : schedules())
    EXPECT_THAT(
        findingsOfArrivals(asKernel<arrives<ArrivalDefect::NoBarrier>>, schedule),
        testing::Contains(testing::Field(&SimtFinding::message, testing::HasSubstr("arrives, but stores of warp"))));
}

TEST(SimtDetection, ReadsOfWhatOtherInstancesStore) {
  for (SimtKernel kernel : {asKernel<arrives<ArrivalDefect::NoArrival>>, asKernel<arrives<ArrivalDefect::NotLast>>})
    for (const SimtInterleaving &schedule : schedules())
      EXPECT_THAT(findingsOfArrivals(kernel, schedule),
                  testing::Contains(testing::Field(&SimtFinding::message, testing::HasSubstr("which nothing orders"))));
}

//===-- Asynchronous copies ---------------------------------------------------------------------------------------===//

template <bool Wait, bool Barrier> void copyAndRead(const Me &me) {
  me.ops->copy_async(me.lane, 2, kSimtSharedBase + 16 * me.thread(), me.in(4 * me.thread()), 16, 16);
  me.ops->commit_copies(me.lane, 3);
  if (Wait)
    me.ops->wait_copies(me.lane, 4, 0);
  if (Barrier)
    me.barrier(5);
  me.read(6, 16 * (63 - me.thread()));
  me.ops->wait_copies(me.lane, 7, 0);
}
TEST(SimtDetection, CopiesThatAreWaitedFor) { expectClean(asKernel<copyAndRead<true, true>>); }
TEST(SimtDetection, CopiesWithoutAWait) {
  expectFault(asKernel<copyAndRead<false, true>>, SimtErrorKind::unwaited_copy, "without a wait for the copy");
}
TEST(SimtDetection, CopiesWithoutABarrier) {
  expectFault(asKernel<copyAndRead<true, false>>, SimtErrorKind::race, "asynchronous write");
}

template <bool Barrier> void overwriteByCopy(const Me &me) {
  me.write(1, 16 * me.thread(), 0);
  me.barrier(2);
  me.read(3, 16 * (63 - me.thread()));
  if (Barrier)
    me.barrier(4);
  me.ops->copy_async(me.lane, 5, kSimtSharedBase + 16 * me.thread(), me.in(4 * me.thread()), 16, 16);
  me.ops->commit_copies(me.lane, 6);
  me.ops->wait_copies(me.lane, 7, 0);
}
TEST(SimtDetection, CopiesAfterTheLastRead) { expectClean(asKernel<overwriteByCopy<true>>); }
TEST(SimtDetection, CopiesOverWhatIsStillRead) {
  expectFault(asKernel<overwriteByCopy<false>>, SimtErrorKind::race, "then asynchronous write");
}

void leaveCopies(const Me &me) {
  me.ops->copy_async(me.lane, 2, kSimtSharedBase + 16 * me.thread(), me.in(0), 16, 16);
  me.ops->commit_copies(me.lane, 3);
}
TEST(SimtDetection, CopiesAtTheEnd) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Outcome outcome = run({.kernel = asKernel<leaveCopies>,
                                 .in = randomWords(4, 1),
                                 .schedule = {.scheduler = SimtScheduler::eager, .seed = seed}});
    ASSERT_EQ(outcome.findings.size(), 1U);
    EXPECT_EQ(outcome.findings.front().fault, SimtErrorKind::pending_copy);
  }
}

//===-- Memory ----------------------------------------------------------------------------------------------------===//

void readUninitialised(const Me &me) { me.read(2, 4 * me.thread()); }
TEST(SimtDetection, UninitialisedSharedMemory) {
  expectFault(asKernel<readUninitialised>, SimtErrorKind::uninitialised, "(op2 at kernel.cpp:2)");
}

void writeBeyondShared(const Me &me) { me.write(2, 4096 - 2, 0); }
TEST(SimtDetection, OutsideSharedMemory) {
  expectFault(asKernel<writeBeyondShared>, SimtErrorKind::out_of_bounds, "outside shared memory, byte 4094");
}

void storeBeyond(const Me &me) { me.store(me.thread() == 5 ? 512 : 512 - 1 - me.thread(), 0); }
TEST(SimtDetection, OutsideATensor) {
  expectFault(asKernel<storeBeyond>, SimtErrorKind::out_of_bounds,
              "write of 4 bytes outside tensor 'out', byte 2048, by warp 0 lane 5");
}

void storeToInput(const Me &me) {
  if (me.thread() == 0)
    me.ops->store(me.lane, 2, 1, me.in(0), 4, "abc");
}
TEST(SimtDetection, WritesToWhatIsOnlyRead) {
  expectFault(asKernel<storeToInput>, SimtErrorKind::out_of_bounds, "'in'");
}

void loadUnaligned(const Me &me) {
  uint32_t words[4];
  me.ops->load(me.lane, 2, 1, me.in(1), 16, words);
}
TEST(SimtDetection, UnalignedVectors) { expectFault(asKernel<loadUnaligned>, SimtErrorKind::misaligned, "unaligned"); }

//===-- Control ---------------------------------------------------------------------------------------------------===//

void halfAtBarrier(const Me &me) {
  if (me.thread() < 32)
    me.barrier(2);
}
TEST(SimtDetection, BarrierThatNotAllReach) {
  expectFault(asKernel<halfAtBarrier>, SimtErrorKind::deadlock, "32 of 64 lanes wait for ever: warp 0 lane 0 (op2");
}

void divergentShuffle(const Me &me) {
  me.ops->shuffle(me.lane, me.thread() % 32 < 7 ? 2 : 3, uint32_t(SimtShuffle::lane_xor), 0, 1);
}
TEST(SimtDetection, DivergentWarp) { expectFault(asKernel<divergentShuffle>, SimtErrorKind::divergence, "op2"); }

void divergentBarrier(const Me &me) { me.barrier(me.thread() % 2 ? 2 : 3); }
TEST(SimtDetection, DivergentBarrier) { expectFault(asKernel<divergentBarrier>, SimtErrorKind::divergence, "op3"); }

/// 512 lanes begin with 128 registers each, and no lane releases any.
void tooManyRegisters(const Me &me) { me.ops->set_registers(me.lane, 2, me.thread() < 128 ? 128 : 136); }
TEST(SimtDetection, RegistersThatNobodyGivesBack) {
  const Outcome outcome = run({.kernel = asKernel<tooManyRegisters>, .in = {0}, .threads = 512});
  ASSERT_EQ(outcome.findings.size(), 1U);
  EXPECT_EQ(outcome.findings.front().fault, SimtErrorKind::deadlock);
  EXPECT_THAT(outcome.findings.front().message, testing::HasSubstr("384 of 512 lanes wait for ever"));
}

/// 256 lanes can redistribute 256 registers each, or 128 each if another instance shares the multiprocessor.
void halfForEachRole(const Me &me) { me.ops->set_registers(me.lane, 2, me.thread() < 128 ? 56 : 200); }
TEST(SimtDetection, RegistersOfAnotherInstance) {
  tegula::test::Run lanes{.kernel = asKernel<halfForEachRole>, .in = {0}, .threads = 256, .instances_per_sm = 2};
  EXPECT_TRUE(run(lanes).findings.empty());
  lanes.instances_per_sm = 3;
  EXPECT_THAT(run(lanes).findings, testing::SizeIs(1));
}

TEST(SimtArtifact, SaysHowManyInstancesShareAMultiprocessor) {
  const auto device = *simtDevice();
  const Artifact none{.target = "simt", .kernel = "k", .threads = 32, .instances_per_sm = 0};
  EXPECT_EQ(device->load(none).status().message(), "kernel 'k': instances_per_sm is 0, but must be at least 1");
}

/// The first warp writes a slot each time the second warp has emptied it. One lane writes, but all lanes wait.
template <bool Together> void feed(const Me &me) {
  constexpr uint32_t full = kSimtSharedBase, empty = full + 8, slot = 64;
  if (me.thread() == 0) {
    me.ops->mbarrier_init(me.lane, 2, 1, full, 1);
    me.ops->mbarrier_init(me.lane, 2, 1, empty, 1);
  }
  me.barrier(3);
  const bool isProducer = me.thread() < 32;
  for (uint32_t round = 0; round < 4; ++round) {
    me.ops->mbarrier_wait(me.lane, 4, isProducer ? empty : full, (round ^ uint32_t(isProducer)) & 1, 1);
    if (me.thread() == 0)
      me.write(5, slot, round);
    else if (!isProducer)
      me.read(6, slot);
    if (Together || !isProducer)
      me.ops->barrier_warp(me.lane, 7);
    me.ops->mbarrier_arrive(me.lane, 8, me.thread() % 32 == 0, isProducer ? full : empty, 1, 0);
  }
}
TEST(SimtDetection, LanesThatWaitTogetherMissNoPhase) { expectClean(asKernel<feed<true>>); }
/// A lane that looks too late sees the parity of a later phase, and no further phase ends. It waits for ever, unless
/// other lanes wait for it.
TEST(SimtDetection, ALaneThatFallsBehindWaitsForEver) {
  int found = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Outcome outcome = run({.kernel = asKernel<feed<false>>,
                                 .in = {0},
                                 .threads = 64,
                                 .schedule = {.scheduler = SimtScheduler::laggard, .seed = seed}});
    for (const SimtFinding &finding : outcome.findings) {
      EXPECT_EQ(finding.fault, SimtErrorKind::deadlock);
      EXPECT_THAT(finding.message, testing::HasSubstr("1 of 64 lanes wait"));
      ++found;
    }
  }
  EXPECT_GE(found, 3);
}

//===-- Mutations, and replay -------------------------------------------------------------------------------------===//

TEST(SimtDetection, AMutationLeavesOutOneInstruction) {
  for (uint32_t site : {3U, 5U}) {
    const Outcome outcome = run({.kernel = asKernel<exchange<true, true, 33>>,
                                 .in = {0},
                                 .out_words = 64,
                                 .threads = 64,
                                 .schedule = {.mutation = SimtMutation{.kernel = "lanes", .site = site}}});
    EXPECT_THAT(outcome.findings, testing::Contains(testing::Field(&SimtFinding::fault, SimtErrorKind::race)));
  }
}

/// The first access after the barrier is not one that the barrier orders.
void writeThenExchange(const Me &me) {
  me.write(2, 4 * me.thread(), 1);
  me.barrier(3);
  me.write(4, 4 * (64 + me.thread()), 1);
  me.read(5, 4 * ((me.thread() + 33) % 64));
}
TEST(SimtDetection, AMutationDelaysBehindWhatIsOrdered) {
  expectClean(asKernel<writeThenExchange>);
  const SimtMutation late{.kernel = "lanes", .site = 3, .change = SimtChange::delay};
  const Outcome outcome =
      run({.kernel = asKernel<writeThenExchange>, .in = {0}, .threads = 64, .schedule = {.mutation = late}});
  EXPECT_THAT(outcome.findings, testing::Contains(testing::Field(&SimtFinding::fault, SimtErrorKind::race)));
}

TEST(SimtDetection, TheSameSeedGivesTheSameRun) {
  for (const SimtInterleaving &schedule : schedules()) {
    const auto twice = [&] {
      const Outcome outcome = run({.kernel = asKernel<exchange<false, false, 33>>,
                                   .in = {0},
                                   .out_words = 64,
                                   .threads = 64,
                                   .schedule = schedule});
      return outcome.findings.front().message;
    };
    EXPECT_EQ(twice(), twice());
  }
}

} // namespace
