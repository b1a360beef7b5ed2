// SPDX-License-Identifier: MIT
// A kernel in Hopper's style. A producer warp loads tiles into a ring by TMA; a warpgroup multiplies them and stores
// the result by TMA. The executor reports nothing. If any one of the synchronisations is wrong, it reports something.
#include "lanes.h"

#include <algorithm>
#include <bit>
#include <gtest/gtest.h>

using namespace tegula;
using namespace tegula::test;

namespace {

enum class Defect {
  None,
  NoFenceAfterInit,
  NoBarrierAfterInit,
  EmptyCountTooLarge,
  EmptyCountTooSmall,
  ProducerSkipsEmpty,
  ProducerParityInverted,
  TooManyBytesExpected,
  TooFewBytesExpected,
  ConsumerSkipsFull,
  SomeLanesSkipFull,
  NoMmaFence,
  NoCommit,
  NoMmaWait,
  AccumulatorReadInFlight,
  ReleasedBeforeWait,
  ReleasedByTwoLanes,
  NoProxyFenceBeforeStore,
  NoBarrierBeforeStore,
  NoStoreWait,
  BarrierForOtherThreads,
  LoadNotWaitedFor,
};

constexpr uint32_t kStages = 2, kTiles = 5, kTileBytes = 64 * 128, kMap = 64; // Tiles of 64 x 64 bf16.
constexpr uint32_t kFull = kSimtSharedBase, kEmpty = kFull + 8 * kStages, kRing = kSimtSharedBase + 1024,
                   kStaging = kRing + kStages * kTileBytes, kSharedBytes = 1024 + kStages * kTileBytes + 64 * 256;

struct Stream {
  const Me &me;
  Defect defect;

  bool is(Defect d) const { return defect == d; }
  uint32_t full(uint32_t tile) const { return kFull + 8 * (tile % kStages); }
  uint32_t empty(uint32_t tile) const { return kEmpty + 8 * (tile % kStages); }
  uint32_t place(uint32_t tile) const { return kRing + kTileBytes * (tile % kStages); }

  void run() const {
    if (me.thread() == 0)
      initialise();
    if (!is(Defect::NoBarrierAfterInit))
      me.barrier(3);
    if (me.thread() < 128)
      produce();
    else
      consume();
  }

  void initialise() const {
    for (uint32_t stage = 0; stage < kStages; ++stage) {
      const uint32_t readers = is(Defect::EmptyCountTooLarge) ? 2 : is(Defect::EmptyCountTooSmall) ? 0 : 1;
      me.ops->mbarrier_init(me.lane, 4, 1, full(stage), 1);
      me.ops->mbarrier_init(me.lane, 4, 1, empty(stage), readers);
    }
    if (!is(Defect::NoFenceAfterInit))
      me.ops->fence_proxy(me.lane, 5, uint32_t(SimtFence::mbarrier_init));
  }

  void produce() const {
    me.ops->set_registers(me.lane, 6, 24);
    if (me.thread() != 0)
      return;
    const uint32_t tiles = is(Defect::LoadNotWaitedFor) ? kTiles + 1 : kTiles;
    for (uint32_t tile = 0; tile < tiles; ++tile) {
      const uint32_t parity = (tile / kStages & 1) ^ (is(Defect::ProducerParityInverted) ? 0 : 1);
      if (!is(Defect::ProducerSkipsEmpty))
        me.ops->mbarrier_wait(me.lane, 7, empty(tile), parity, 1);
      load(tile);
    }
  }

  void load(uint32_t tile) const {
    const int surplus = is(Defect::TooManyBytesExpected) ? 16 : 0;
    me.ops->mbarrier_arrive(me.lane, 8, 1, full(tile), 1,
                            is(Defect::TooFewBytesExpected) ? kTileBytes / 2 : kTileBytes + surplus);
    SimtTensorMap map{.address = me.in(0), .rank = 2, .element_bytes = 2, .swizzle = 128};
    map.box[0] = 64, map.box[1] = 32, map.size[0] = 64, map.size[1] = 64 * (kTiles + 1), map.stride[0] = 128;
    for (int32_t half = 0; half < 2; ++half) {
      const int32_t corner[] = {0, int32_t(64 * tile) + 32 * half};
      me.ops->copy_tensor(me.lane, 9, 1, uint32_t(SimtBulk::load), place(tile) + kTileBytes / 2 * half, &map, corner,
                          full(tile));
    }
  }

  void consume() const {
    me.ops->set_registers(me.lane, 10, 240);
    const uint32_t lane = me.thread() - 128;
    uint32_t sums[32] = {};
    for (uint32_t tile = 0; tile < kTiles; ++tile) {
      if (!is(Defect::ConsumerSkipsFull) && !(is(Defect::SomeLanesSkipFull) && lane % 32 >= 16))
        me.ops->mbarrier_wait(me.lane, 11, full(tile), tile / kStages & 1, 1);
      multiply(tile, sums);
      if (is(Defect::ReleasedBeforeWait))
        release(lane, tile);
      if (is(Defect::AccumulatorReadInFlight))
        me.ops->read_accumulator(me.lane, 12, sums[3]);
      if (!is(Defect::NoMmaWait))
        me.ops->wgmma_wait(me.lane, 13, 0, 32, sums);
      if (!is(Defect::ReleasedBeforeWait))
        release(lane, tile);
    }
    if (is(Defect::NoMmaWait))
      me.ops->wgmma_wait(me.lane, 13, 0, 32, sums);
    store(lane, sums);
  }

  void release(uint32_t lane, uint32_t tile) const {
    if (lane == 0 || (is(Defect::ReleasedByTwoLanes) && lane == 64))
      me.ops->mbarrier_arrive(me.lane, 14, 1, empty(tile), 1, 0);
  }

  /// Computes sums += tile x tile^T.
  void multiply(uint32_t tile, uint32_t *sums) const {
    if (!is(Defect::NoMmaFence))
      me.ops->wgmma_fence(me.lane, 15);
    for (uint32_t step = 0; step < 4; ++step) {
      const uint64_t descriptor = (place(tile) + 32 * step) >> 4 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
      const SimtWgmma product{.columns = kMap, .a_descriptor = descriptor, .b_descriptor = descriptor};
      me.ops->wgmma(me.lane, 16, &product, sums);
    }
    if (!is(Defect::NoCommit))
      me.ops->wgmma_commit(me.lane, 17);
  }

  void store(uint32_t lane, const uint32_t *sums) const {
    for (uint32_t i = 0; i < 32; ++i) {
      const uint32_t row = lane / 32 * 16 + lane % 32 / 4 + (i % 4 >= 2 ? 8 : 0);
      const uint32_t column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      me.ops->store_shared(me.lane, 18, 1, kStaging + 256 * row + 4 * column, 4, &sums[i]);
    }
    if (!is(Defect::NoProxyFenceBeforeStore))
      me.ops->fence_proxy(me.lane, 19, uint32_t(SimtFence::async_proxy));
    if (!is(Defect::NoBarrierBeforeStore))
      me.ops->barrier(me.lane, 20, 1, is(Defect::BarrierForOtherThreads) && lane >= 64 ? 96 : 128);
    if (lane != 0)
      return;
    me.ops->copy_bulk(me.lane, 21, 1, uint32_t(SimtBulk::store), kStaging, me.out(0), 64 * 256, 0);
    me.ops->commit_bulk(me.lane, 22);
    if (!is(Defect::NoStoreWait))
      me.ops->wait_bulk(me.lane, 23, 0, 1);
  }
};

template <Defect Which> void stream(const Me &me) { Stream{me, Which}.run(); }

std::vector<SimtInterleaving> schedules() {
  std::vector<SimtInterleaving> all;
  for (uint32_t i = 0; i < 40; ++i)
    all.push_back({.scheduler = SimtScheduler(i % kSimtSchedulers), .seed = i / kSimtSchedulers});
  return all;
}

/// Returns tiles of small integers, as bf16.
std::vector<int32_t> tiles() {
  std::mt19937_64 random(1);
  std::vector<int32_t> words;
  const auto element = [&] { return std::bit_cast<uint32_t>(float(int(random() % 17) - 8)) >> 16; };
  for (uint32_t i = 0; i < (kTiles + 1) * kTileBytes / 4; ++i)
    words.push_back(int32_t(element() | element() << 16));
  return words;
}

Outcome runStream(SimtKernel kernel, const SimtInterleaving &schedule) {
  return run({.kernel = kernel,
              .in = tiles(),
              .out_words = 64 * 64,
              .threads = 256,
              .shared_bytes = kSharedBytes,
              .schedule = schedule});
}

TEST(SimtPipeline, MultipliesAllTiles) {
  const auto in = tiles();
  const auto element = [&](uint32_t row, uint32_t k) {
    return std::bit_cast<float>(uint32_t(in[row * 32 + k / 2]) >> 16 * (k % 2) << 16);
  };
  for (const SimtInterleaving &schedule : schedules()) {
    const Outcome outcome = runStream(asKernel<stream<Defect::None>>, schedule);
    ASSERT_TRUE(outcome.findings.empty()) << outcome.findings.front().message;
    for (uint32_t row = 0; row < 64; row += 7)
      for (uint32_t column = 0; column < 64; column += 5) {
        float sum = 0;
        for (uint32_t tile = 0; tile < kTiles; ++tile)
          for (uint32_t k = 0; k < 64; ++k)
            sum += element(64 * tile + row, k) * element(64 * tile + column, k);
        ASSERT_EQ(std::bit_cast<float>(outcome.out[64 * row + column]), sum) << row << " " << column;
      }
  }
}

/// Expects that under each scheduler at least one of 10 seeds finds one of these faults. Which fault it is may depend
/// on the order of lanes.
template <Defect Which> void expectFound(const std::vector<SimtErrorKind> &faults, const std::string &text) {
  for (uint32_t scheduler = 0; scheduler < 4; ++scheduler) {
    std::vector<SimtFinding> found;
    for (uint64_t seed = 0; seed < 10 && found.empty(); ++seed)
      found = runStream(asKernel<stream<Which>>, {.scheduler = SimtScheduler(scheduler), .seed = seed}).findings;
    const auto fits = [&](const SimtFinding &finding) {
      return std::ranges::count(faults, finding.fault) != 0 && finding.message.find(text) != std::string::npos;
    };
    EXPECT_TRUE(std::ranges::any_of(found, fits))
        << "scheduler " << scheduler << ": " << (found.empty() ? "nothing found" : found.front().message);
  }
}
template <Defect Which> void expectFound(SimtErrorKind fault, const std::string &text) {
  expectFound<Which>(std::vector{fault}, text);
}

TEST(SimtPipeline, InitialisationOfMbarriers) {
  expectFound<Defect::NoFenceAfterInit>(SimtErrorKind::missing_fence, "without fence.mbarrier_init");
  expectFound<Defect::NoBarrierAfterInit>({SimtErrorKind::race, SimtErrorKind::barrier_misuse}, "mbarrier");
}
TEST(SimtPipeline, CountsOfMbarriers) {
  expectFound<Defect::EmptyCountTooLarge>(SimtErrorKind::deadlock, "256 lanes wait for ever");
  expectFound<Defect::EmptyCountTooSmall>(SimtErrorKind::barrier_misuse, "already has all 0 arrivals");
  expectFound<Defect::ReleasedByTwoLanes>(
      {SimtErrorKind::barrier_misuse, SimtErrorKind::unwaited_copy, SimtErrorKind::race}, "op");
}
TEST(SimtPipeline, PhasesOfMbarriers) {
  expectFound<Defect::ProducerSkipsEmpty>({SimtErrorKind::unwaited_copy, SimtErrorKind::race}, "then bulk write");
  expectFound<Defect::ProducerParityInverted>(SimtErrorKind::deadlock, "op7");
  expectFound<Defect::ConsumerSkipsFull>({SimtErrorKind::unwaited_copy, SimtErrorKind::uninitialised}, "op16");
  expectFound<Defect::SomeLanesSkipFull>(SimtErrorKind::race, "without a barrier");
}
TEST(SimtPipeline, BytesOfMbarriers) {
  expectFound<Defect::TooManyBytesExpected>(SimtErrorKind::deadlock, "op11");
  expectFound<Defect::TooFewBytesExpected>({SimtErrorKind::barrier_misuse, SimtErrorKind::unwaited_copy}, "(op9");
}
TEST(SimtPipeline, ProductsInFlight) {
  expectFound<Defect::NoMmaFence>(SimtErrorKind::missing_fence, "without wgmma.fence");
  expectFound<Defect::NoCommit>(SimtErrorKind::unwaited_copy, "without a wait for the product");
  expectFound<Defect::NoMmaWait>({SimtErrorKind::unwaited_copy, SimtErrorKind::race}, "then bulk write");
  expectFound<Defect::AccumulatorReadInFlight>(SimtErrorKind::unwaited_copy, "is used by warp");
  expectFound<Defect::ReleasedBeforeWait>({SimtErrorKind::unwaited_copy, SimtErrorKind::race}, "bulk read");
}
TEST(SimtPipeline, Stores) {
  expectFound<Defect::NoProxyFenceBeforeStore>(SimtErrorKind::missing_fence, "without fence.proxy.async");
  expectFound<Defect::NoBarrierBeforeStore>(SimtErrorKind::race, "then bulk read");
  expectFound<Defect::NoStoreWait>(SimtErrorKind::pending_copy, "op21");
}
TEST(SimtPipeline, Others) {
  expectFound<Defect::BarrierForOtherThreads>(SimtErrorKind::barrier_misuse, "threads to barrier 1");
  expectFound<Defect::LoadNotWaitedFor>(SimtErrorKind::pending_copy, "op9");
}

/// The executor leaves out each instruction that orders other instructions.
TEST(SimtPipeline, Mutations) {
  for (uint32_t site : {3U, 5U, 7U, 8U, 11U, 13U, 14U, 15U, 17U, 19U, 20U, 22U, 23U}) {
    std::vector<SimtFinding> found;
    for (uint32_t i = 0; i < 10 && found.empty(); ++i)
      found = runStream(asKernel<stream<Defect::None>>, {.scheduler = SimtScheduler(i % kSimtSchedulers),
                                                         .seed = i,
                                                         .mutation = SimtMutation{.kernel = "lanes", .site = site}})
                  .findings;
    EXPECT_FALSE(found.empty()) << "site " << site;
  }
}

} // namespace
