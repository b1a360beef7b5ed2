// SPDX-License-Identifier: MIT
// Tests bulk copies and mbarriers: loads and stores of boxes under every swizzle, inside tensors and across their
// edges.
#include "lanes.h"

#include <bit>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tegula;
using namespace tegula::test;

namespace {

constexpr uint32_t kMbarrier = kSimtSharedBase, kBox = kSimtSharedBase + 1024;

/// The copy that the kernels below make. Only one kernel runs at a time.
struct Running {
  SimtTensorMap map; ///< `address` is relative to the tensor.
  int32_t corner[5] = {};
};
Running running;

uint32_t boxWords() {
  uint32_t bytes = running.map.element_bytes;
  for (uint32_t d = 0; d < running.map.rank; ++d)
    bytes *= running.map.box[d];
  return bytes / 4;
}

SimtTensorMap mapAt(uint64_t tensor) {
  SimtTensorMap map = running.map;
  map.address += tensor;
  return map;
}

/// Loads the box with lane 0. Then all lanes wait, and write shared memory unchanged to `out`.
void load(const Me &me) {
  if (me.thread() == 0) {
    me.ops->mbarrier_init(me.lane, 2, 1, kMbarrier, 1);
    me.ops->fence_proxy(me.lane, 3, uint32_t(SimtFence::mbarrier_init));
  }
  me.barrier(4);
  if (me.thread() == 0) {
    const SimtTensorMap map = mapAt(me.in(0));
    me.ops->mbarrier_arrive(me.lane, 5, 1, kMbarrier, 1, 4 * boxWords());
    me.ops->copy_tensor(me.lane, 6, 1, uint32_t(SimtBulk::load), kBox, &map, running.corner, kMbarrier);
  }
  me.ops->mbarrier_wait(me.lane, 7, kMbarrier, 0, 1);
  for (uint32_t i = me.thread(); i < boxWords(); i += 32)
    me.store(i, me.read(8, 1024 + 4 * i));
}

/// Writes the words of `in` to shared memory unchanged, and stores them from there to a box of `out`.
template <SimtBulk Kind> void store(const Me &me) {
  for (uint32_t i = me.thread(); i < boxWords(); i += 32)
    me.write(2, 1024 + 4 * i, me.load(i));
  me.ops->fence_proxy(me.lane, 3, uint32_t(SimtFence::async_proxy));
  me.ops->barrier_warp(me.lane, 4);
  if (me.thread() == 0) {
    const SimtTensorMap map = mapAt(me.out(0));
    me.ops->copy_tensor(me.lane, 5, 1, uint32_t(Kind), kBox, &map, running.corner, 0);
    me.ops->commit_bulk(me.lane, 6);
    me.ops->wait_bulk(me.lane, 7, 0, 1);
  }
}

/// Returns which byte of a box in shared memory holds byte `byte` of its row `row`, from "Swizzle modes" of the PTX
/// manual. Vectors of 16 bytes are permuted within 128, 64 or 32 bytes, in a pattern of 1024, 512 or 256 bytes.
uint32_t placeOf(uint32_t row, uint32_t byte, uint32_t rowBytes, uint32_t swizzle) {
  const uint32_t chunk = byte / 16;
  const uint32_t moved = swizzle == 128  ? chunk ^ row % 8
                         : swizzle == 64 ? chunk ^ row / 2 % 4
                         : swizzle == 32 ? chunk ^ row / 4 % 2
                                         : chunk;
  return row * rowBytes + moved * 16 + byte % 16;
}

/// Returns the map of a packed tensor of `rank` dimensions.
SimtTensorMap packed(uint32_t rank, uint32_t elementBytes, std::initializer_list<uint32_t> sizes,
                     std::initializer_list<uint32_t> box, uint32_t swizzle) {
  SimtTensorMap map{.rank = rank, .element_bytes = elementBytes, .swizzle = swizzle};
  std::copy(sizes.begin(), sizes.end(), map.size);
  std::copy(box.begin(), box.end(), map.box);
  uint64_t stride = elementBytes;
  for (uint32_t d = 0; d + 1 < rank; ++d)
    map.stride[d] = stride *= map.size[d];
  return map;
}

/// Calls visit(byte of the tensor or -1 if outside, byte of the box in shared memory).
template <class Visit> void forEachByte(Visit visit) {
  const SimtTensorMap &map = running.map;
  const uint32_t rowBytes = map.box[0] * map.element_bytes, rows = 4 * boxWords() / rowBytes;
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t byte = 0; byte < rowBytes; ++byte) {
      uint64_t offset = 0;
      bool inside = true;
      uint32_t rest = row;
      for (uint32_t d = 0; d < map.rank; ++d) {
        const int64_t at = running.corner[d] + int64_t(d == 0 ? byte / map.element_bytes : rest % map.box[d]);
        rest = d == 0 ? rest : rest / map.box[d];
        inside = inside && at >= 0 && at < int64_t(map.size[d]);
        offset += uint64_t(at) * (d == 0 ? map.element_bytes : map.stride[d - 1]);
      }
      visit(inside ? int64_t(offset) + byte % map.element_bytes : -1, placeOf(row, byte, rowBytes, map.swizzle));
    }
}

std::vector<SimtInterleaving> schedules() {
  std::vector<SimtInterleaving> all;
  for (uint32_t i = 0; i < 8; ++i)
    all.push_back({.scheduler = SimtScheduler(i % kSimtSchedulers), .seed = i});
  return all;
}

void expectLoad() {
  const auto in = randomWords(4096, 1);
  const auto *from = reinterpret_cast<const uint8_t *>(in.data());
  for (const SimtInterleaving &schedule : schedules()) {
    const auto out = results(
        {.kernel = asKernel<load>, .in = in, .out_words = boxWords(), .shared_bytes = 32768, .schedule = schedule});
    const auto *to = reinterpret_cast<const uint8_t *>(out.data());
    forEachByte([&](int64_t byte, uint32_t place) { ASSERT_EQ(to[place], byte < 0 ? 0 : from[byte]) << place; });
  }
}

template <SimtBulk Kind> void expectStore() {
  auto in = randomWords(boxWords(), 2);
  for (int32_t &word : in)
    word = std::bit_cast<int32_t>(float(word % 100));
  const auto *from = reinterpret_cast<const uint8_t *>(in.data());
  for (const SimtInterleaving &schedule : schedules()) {
    ::tegula::test::Run lanes{
        .kernel = asKernel<store<Kind>>, .in = in, .out_words = 4096, .shared_bytes = 32768, .schedule = schedule};
    lanes.fill = std::bit_cast<int32_t>(2.0F);
    const auto out = results(lanes);
    std::vector<uint8_t> expected(4 * out.size());
    for (size_t i = 0; i < out.size(); ++i)
      std::memcpy(&expected[4 * i], &lanes.fill, 4);
    forEachByte([&](int64_t byte, uint32_t place) {
      if (byte < 0)
        return;
      if (Kind == SimtBulk::store)
        expected[byte] = from[place];
      else if (byte % 4 == 0) {
        float value = 0;
        std::memcpy(&value, &from[place], 4);
        value += 2;
        std::memcpy(&expected[byte], &value, 4);
      }
    });
    ASSERT_EQ(std::memcmp(out.data(), expected.data(), expected.size()), 0);
  }
}

/// Calls `expect` for corners inside the tensor and across every edge. Stores must not begin at negative coordinates.
void forEachCorner(void (*expect)(), bool stores) {
  for (int32_t inner : {0, 8, -16, 24})
    for (int32_t outer : {0, 3, -2, 25}) {
      if (stores && (inner < 0 || outer < 0))
        continue;
      running.corner[0] = inner;
      running.corner[1] = outer;
      SCOPED_TRACE(testing::Message() << "corner " << inner << " " << outer);
      expect();
    }
}

TEST(SimtBulk, LoadsBoxes) {
  for (uint32_t swizzle : {0, 32, 64, 128}) {
    SCOPED_TRACE(swizzle);
    const uint32_t width = swizzle == 0 ? 48 : swizzle / 2;
    running = {.map = packed(3, 2, {80, 30, 2}, {width, 16, 1}, swizzle), .corner = {0, 0, 1}};
    forEachCorner(expectLoad, /*stores=*/false);
  }
}

TEST(SimtBulk, LoadsBoxesOfFiveDimensions) {
  running = {.map = packed(5, 4, {12, 3, 5, 2, 4}, {8, 2, 3, 2, 2}, 32), .corner = {4, -1, 3, 1, 2}};
  expectLoad();
}

TEST(SimtBulk, LoadsBoxesOfEachElementSize) {
  for (uint32_t bytes : {1U, 2U, 4U}) {
    running = {.map = packed(2, bytes, {160 / bytes, 30}, {128 / bytes, 16}, 128),
               .corner = {static_cast<int32_t>(48 / bytes), 20}};
    expectLoad();
  }
}

TEST(SimtBulk, LoadsVectors) {
  running = {.map = packed(1, 4, {200}, {128}, 0), .corner = {100}};
  expectLoad();
}

/// Rows of a box are row-major over its two outer dimensions, such as the heads of a group.
TEST(SimtBulk, StoresBoxesOfThreeDimensions) {
  running = {.map = packed(3, 2, {80, 4, 20}, {64, 4, 8}, 128), .corner = {8, 0, 3}};
  expectStore<SimtBulk::store>();
}

TEST(SimtBulk, StoresBoxes) {
  for (uint32_t swizzle : {0, 32, 64, 128}) {
    SCOPED_TRACE(swizzle);
    const uint32_t width = swizzle == 0 ? 48 : swizzle / 2;
    running = {.map = packed(3, 2, {80, 30, 2}, {width, 16, 1}, swizzle), .corner = {0, 0, 1}};
    forEachCorner(expectStore<SimtBulk::store>, /*stores=*/true);
  }
}

TEST(SimtBulk, AddsBoxes) {
  running = {.map = packed(2, 4, {40, 30}, {32, 16}, 128)};
  forEachCorner(expectStore<SimtBulk::add_f32>, /*stores=*/true);
}

/// Strides add up modulo 2^64, so that a box can name its first row and an end inside the tensor (docs/design/tma.md).
TEST(SimtBulk, BoxesEndInsideTheTensor) {
  constexpr uint32_t rows = 30, limit = 1 << 30;
  SimtTensorMap map = packed(4, 4, {40, limit, rows + 1, limit + 1}, {32, 16, 1, 1}, 128);
  map.stride[1] = map.stride[0];
  map.stride[2] = (uint64_t{1} << 34) - map.stride[0];
  for (const auto &[first, count] : {std::pair{0, 30}, std::pair{7, 10}, std::pair{9, 0}, std::pair{30, 0}})
    for (int32_t row : {0, 3, 40}) {
      SCOPED_TRACE(testing::Message() << count << " rows from " << first << ", box at " << row);
      running = {.map = map, .corner = {8, int32_t(limit) - count + row, first + count, limit}};
      forEachByte([&](int64_t byte, uint32_t) {
        EXPECT_TRUE(byte < 0 || (byte / 160 >= first + row && byte / 160 < first + count)) << byte;
      });
      expectLoad();
      expectStore<SimtBulk::store>();
      expectStore<SimtBulk::add_f32>();
    }
}

/// Returns the finding of a load with a map that is legal except for `change`.
template <class Change> std::string complaintAbout(Change change) {
  running = {.map = packed(3, 2, {80, 30, 2}, {16, 16, 1}, 32)};
  change(running.map);
  const Outcome outcome =
      run({.kernel = asKernel<load>, .in = randomWords(4096, 1), .out_words = boxWords(), .shared_bytes = 32768});
  for (const SimtFinding &finding : outcome.findings)
    if (finding.fault == SimtErrorKind::illegal_map)
      return finding.message;
  return "none";
}

/// Measured on an H100: any other box is an illegal instruction.
TEST(SimtBulk, BoxesBeginAtMultiplesOf16Bytes) {
  for (const auto &[column, findings] : {std::pair{8, 0}, std::pair{-8, 0}, std::pair{4, 1}, std::pair{-4, 1}}) {
    running = {.map = packed(3, 2, {80, 30, 2}, {16, 16, 1}, 32), .corner = {column, 3, 1}};
    const Outcome outcome =
        run({.kernel = asKernel<load>, .in = randomWords(4096, 1), .out_words = boxWords(), .shared_bytes = 32768});
    ASSERT_EQ(outcome.findings.size(), size_t(findings)) << column;
    if (findings != 0)
      EXPECT_THAT(outcome.findings[0].message,
                  testing::HasSubstr("a box that begins at element " + std::to_string(column) + " of rows"));
  }
}

TEST(SimtBulk, StoresBeginAtNoNegativeCoordinate) {
  for (const auto &[row, findings] : {std::pair{0, 0}, std::pair{25, 0}, std::pair{-1, 1}}) {
    running = {.map = packed(3, 2, {80, 30, 2}, {16, 16, 1}, 32), .corner = {0, row, 1}};
    const Outcome outcome = run({.kernel = asKernel<store<SimtBulk::store>>,
                                 .in = randomWords(boxWords(), 2),
                                 .out_words = 4096,
                                 .shared_bytes = 32768});
    ASSERT_EQ(outcome.findings.size(), size_t(findings)) << row;
    if (findings != 0)
      EXPECT_THAT(outcome.findings[0].message, testing::HasSubstr("stores a box that begins at a negative coordinate"));
  }
}

TEST(SimtBulk, MapsThatNoGpuMakes) {
  const auto expect = [](const std::string &text, auto change) {
    EXPECT_THAT(complaintAbout(change), testing::HasSubstr(text));
  };
  using Map = SimtTensorMap;
  expect("none", [](Map &) {});
  expect("no GPU makes: it has an address that is no multiple of 16", [](Map &map) { map.address += 4; });
  expect("0 dimensions; legal are 1 to 5", [](Map &map) { map.rank = 0; });
  expect("a stride of 168 bytes; legal are multiples of 16 below 2^40", [](Map &map) { map.stride[0] = 168; });
  expect("a stride of 1099511627776 bytes", [](Map &map) { map.stride[1] = uint64_t{1} << 40; });
  expect("a size of 0; legal are 1 to 2^32", [](Map &map) { map.size[2] = 0; });
  expect("a box of 0 elements", [](Map &map) { map.box[2] = 0; });
  expect("a box of 257 elements in a dimension; legal are 1 to 256", [](Map &map) { map.box[1] = 257; });
  expect("rows of 24 bytes; legal are multiples of 16", [](Map &map) { map.box[0] = 12; });
  expect("rows of 48 bytes; legal are at most the 32 of the swizzle", [](Map &map) { map.box[0] = 24; });
  expect("a swizzle of 16; legal are 0, 32, 64 and 128", [](Map &map) { map.swizzle = 16; });
  expect("full rows of 128 bytes", [](Map &map) { map.swizzle = 128; });
}

//===-- Consecutive bytes -----------------------------------------------------------------------------------------===//

/// Copies 256 bytes from `in` to shared memory, and adds them from there to `out`.
void throughShared(const Me &me) {
  if (me.thread() != 0)
    return;
  me.ops->mbarrier_init(me.lane, 2, 1, kMbarrier, 1);
  me.ops->fence_proxy(me.lane, 3, uint32_t(SimtFence::mbarrier_init));
  me.ops->mbarrier_arrive(me.lane, 4, 1, kMbarrier, 1, 256);
  me.ops->copy_bulk(me.lane, 5, 1, uint32_t(SimtBulk::load), kBox, me.in(4), 256, kMbarrier);
  me.ops->mbarrier_wait(me.lane, 6, kMbarrier, 0, 1);
  me.ops->copy_bulk(me.lane, 7, 1, uint32_t(SimtBulk::add_f32), kBox, me.out(8), 256, 0);
  me.ops->commit_bulk(me.lane, 8);
  me.ops->wait_bulk(me.lane, 9, 0, 0);
}

TEST(SimtBulk, CopiesAndAddsBytes) {
  std::vector<int32_t> in;
  for (int i = 0; i < 80; ++i)
    in.push_back(std::bit_cast<int32_t>(float(i)));
  for (const SimtInterleaving &schedule : schedules()) {
    ::tegula::test::Run lanes{
        .kernel = asKernel<throughShared>, .in = in, .out_words = 80, .schedule = schedule, .instances = 3};
    lanes.fill = std::bit_cast<int32_t>(0.5F);
    const auto out = results(lanes);
    for (int i = 0; i < 80; ++i)
      EXPECT_EQ(std::bit_cast<float>(out[i]), i < 8 || i >= 72 ? 0.5F : 0.5F + 3.0F * float(i - 4)) << i;
  }
}

//===-- mbarriers -------------------------------------------------------------------------------------------------===//

/// In each of `kPhases` phases, the lanes of warps 1 to 3 pass a word to warp 0, and wait until warp 0 has read it.
constexpr uint32_t kPhases = 5;
void handOver(const Me &me) {
  const uint32_t full = kMbarrier, empty = kMbarrier + 8, warp = me.thread() / 32;
  if (me.thread() == 0) {
    me.ops->mbarrier_init(me.lane, 2, 1, full, 96);
    me.ops->mbarrier_init(me.lane, 3, 1, empty, 32);
  }
  me.barrier(4);
  uint32_t sum = 0;
  for (uint32_t phase = 0; phase < kPhases; ++phase)
    if (warp == 0) {
      me.ops->mbarrier_wait(me.lane, 5, full, phase & 1, 1);
      for (uint32_t from = 1; from < 4; ++from)
        sum += me.read(6, 1024 + 4 * (32 * from + me.thread()));
      me.ops->mbarrier_arrive(me.lane, 7, 1, empty, 1, 0);
    } else {
      me.ops->mbarrier_wait(me.lane, 8, empty, (phase & 1) ^ 1, 1); // The first wait returns at once.
      me.write(9, 1024 + 4 * me.thread(), 1000 * phase + me.thread());
      me.ops->mbarrier_arrive(me.lane, 10, 1, full, 1, 0);
    }
  if (warp == 0)
    me.store(me.thread(), sum);
}

TEST(SimtBulk, PhasesOfMbarriers) {
  for (const SimtInterleaving &schedule : schedules()) {
    const auto out =
        results({.kernel = asKernel<handOver>, .in = {0}, .out_words = 32, .threads = 128, .schedule = schedule});
    for (int i = 0; i < 32; ++i)
      EXPECT_EQ(out[i], 3 * 1000 * 10 + 5 * (3 * i + 32 + 64 + 96));
  }
}

void tryAndSpin(const Me &me) {
  if (me.thread() == 0)
    me.ops->mbarrier_init(me.lane, 2, 1, kMbarrier, 32);
  me.barrier(3);
  if (me.thread() >= 32)
    me.ops->mbarrier_arrive(me.lane, 4, 1, kMbarrier, 1, 0);
  else
    while (me.ops->mbarrier_wait(me.lane, 5, kMbarrier, 0, 0) == 0)
      ;
  me.store(me.thread(), 1);
}
TEST(SimtBulk, LooksAtMbarriers) {
  for (const SimtInterleaving &schedule : schedules())
    EXPECT_EQ(
        results({.kernel = asKernel<tryAndSpin>, .in = {0}, .out_words = 64, .threads = 64, .schedule = schedule}),
        std::vector<int32_t>(64, 1));
}

//===-- Other instructions between warps --------------------------------------------------------------------------===//

/// Warps 0 to 2 write and arrive at a named barrier. Warp 3 waits at the barrier and reads.
void namedBarriers(const Me &me) {
  const uint32_t warp = me.thread() / 32;
  if (warp < 3)
    me.write(2, 4 * me.thread(), me.thread());
  if (warp < 3)
    me.ops->barrier_arrive(me.lane, 3, 1, 128);
  else
    me.ops->barrier(me.lane, 4, 1, 128);
  if (warp == 3)
    for (uint32_t from = 0; from < 3; ++from)
      me.store(32 * from + me.thread() - 96, me.read(5, 4 * (32 * from + me.thread() - 96)));
}
TEST(SimtBulk, NamedBarriers) {
  for (const SimtInterleaving &schedule : schedules()) {
    const auto out =
        results({.kernel = asKernel<namedBarriers>, .in = {0}, .out_words = 96, .threads = 128, .schedule = schedule});
    for (int i = 0; i < 96; ++i)
      EXPECT_EQ(out[i], i);
  }
}

void electOne(const Me &me) {
  if (me.ops->elect(me.lane, 2) != 0)
    me.ops->atomic_add(me.lane, 3, 1, me.out(me.thread() / 32), uint32_t(SimtAtomic::i32), 1, "\1\0\0");
}
TEST(SimtBulk, OneLaneOfEachWarpIsElected) {
  for (const SimtInterleaving &schedule : schedules())
    EXPECT_EQ(results({.kernel = asKernel<electOne>, .in = {0}, .out_words = 4, .threads = 128, .schedule = schedule}),
              std::vector<int32_t>(4, 0)); // The words begin as -1.
}

/// 512 lanes begin with 128 registers each.
void moveRegisters(const Me &me) {
  me.ops->set_registers(me.lane, 2, me.thread() < 128 ? 32 : 160);
  me.store(me.thread(), 1);
}
TEST(SimtBulk, RegistersMoveBetweenWarpgroups) {
  for (const SimtInterleaving &schedule : schedules())
    EXPECT_EQ(
        results({.kernel = asKernel<moveRegisters>, .in = {0}, .out_words = 512, .threads = 512, .schedule = schedule}),
        std::vector<int32_t>(512, 1));
}

} // namespace
