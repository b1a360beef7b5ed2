// SPDX-License-Identifier: MIT
// Runs each instruction on random operands, and compares with the tables of the PTX manual, written here a second time.
#include "lanes.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>

using namespace tegula;
using namespace tegula::test;

namespace {

//===-- mma -------------------------------------------------------------------------------------------------------===//

struct Position {
  uint32_t row, column;
};

/// Returns the position of element i of a lane's fragments, from "Matrix Fragments for mma.m16n8k16" and "...
/// mma.m16n8k8 with .tf32".
Position a16(uint32_t lane, uint32_t i) {
  const uint32_t row = i < 2 || (i >= 4 && i < 6) ? lane / 4 : lane / 4 + 8;
  return {row, lane % 4 * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
}
Position b16(uint32_t lane, uint32_t i) { return {lane % 4 * 2 + (i & 1) + (i >= 2 ? 8 : 0), lane / 4}; }
Position aTf32(uint32_t lane, uint32_t i) {
  return {i == 0 || i == 2 ? lane / 4 : lane / 4 + 8, i < 2 ? lane % 4 : lane % 4 + 4};
}
Position bTf32(uint32_t lane, uint32_t i) { return {i == 0 ? lane % 4 : lane % 4 + 4, lane / 4}; }
Position c(uint32_t lane, uint32_t i) { return {i < 2 ? lane / 4 : lane / 4 + 8, lane % 4 * 2 + (i & 1)}; }

/// Matrices of small numbers. All their products and sums are exact.
struct Matrices {
  float a[16][16] = {}, b[16][8] = {}, c[16][8] = {};

  explicit Matrices(uint64_t seed) {
    std::mt19937_64 random(seed);
    auto small = [&] { return float(int(random() % 65) - 32) / 8; };
    for (auto &row : a)
      for (float &x : row)
        x = small();
    for (auto &row : b)
      for (float &x : row)
        x = small();
    for (auto &row : c)
      for (float &x : row)
        x = small();
  }

  float product(Position at, uint32_t depth) const {
    float sum = c[at.row][at.column];
    for (uint32_t k = 0; k < depth; ++k)
      sum += a[at.row][k] * b[k][at.column];
    return sum;
  }
};

uint32_t f16Bits(float x) { // Exact for multiples of 1/8 up to 4.
  if (x == 0)
    return 0;
  int exponent = 0;
  const float fraction = std::frexp(std::abs(x), &exponent);
  return (x < 0 ? 0x8000U : 0U) | uint32_t(exponent + 14) << 10 | (uint32_t(fraction * 2048) & 0x3ff);
}

void expectProduct(const std::vector<int32_t> &out, const Matrices &m, uint32_t depth) {
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t i = 0; i < 4; ++i)
      ASSERT_EQ(std::bit_cast<float>(out[4 * lane + i]), m.product(c(lane, i), depth)) << lane << " " << i;
}

template <class Convert> std::vector<int32_t> operands16(const Matrices &m, Convert convert) {
  std::vector<int32_t> in;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    auto element = [&](auto &matrix, Position at) { return convert(matrix[at.row][at.column]); };
    for (uint32_t i = 0; i < 8; i += 2)
      in.push_back(int32_t(element(m.a, a16(lane, i)) | element(m.a, a16(lane, i + 1)) << 16));
    for (uint32_t i = 0; i < 4; i += 2)
      in.push_back(int32_t(element(m.b, b16(lane, i)) | element(m.b, b16(lane, i + 1)) << 16));
    for (uint32_t i = 0; i < 4; ++i)
      in.push_back(std::bit_cast<int32_t>(m.c[c(lane, i).row][c(lane, i).column]));
  }
  return in;
}

TEST(SimtConformance, MmaOfBf16) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Matrices m(seed);
    const auto in = operands16(m, [](float x) { return std::bit_cast<uint32_t>(x) >> 16; });
    expectProduct(results({.kernel = asKernel<multiply<SimtMma::bf16>>, .in = in, .out_words = 128}), m, 16);
  }
}

TEST(SimtConformance, MmaOfF16) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Matrices m(seed);
    expectProduct(results({.kernel = asKernel<multiply<SimtMma::f16>>, .in = operands16(m, f16Bits), .out_words = 128}),
                  m, 16);
  }
}

TEST(SimtConformance, MmaOfTf32IgnoresLowBits) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Matrices m(seed);
    std::vector<int32_t> in;
    auto element = [](auto &matrix, Position at) { return std::bit_cast<int32_t>(matrix[at.row][at.column]) | 0x1abc; };
    for (uint32_t lane = 0; lane < 32; ++lane) {
      for (uint32_t i = 0; i < 4; ++i)
        in.push_back(element(m.a, aTf32(lane, i)));
      for (uint32_t i = 0; i < 2; ++i)
        in.push_back(element(m.b, bTf32(lane, i)));
      for (uint32_t i = 0; i < 4; ++i)
        in.push_back(std::bit_cast<int32_t>(m.c[c(lane, i).row][c(lane, i).column]));
    }
    expectProduct(results({.kernel = asKernel<multiply<SimtMma::tf32>>, .in = in, .out_words = 128}), m, 8);
  }
}

//===-- ldmatrix and stmatrix -------------------------------------------------------------------------------------===//

/// Returns the address of a lane's row. Rows are in reverse, 48 bytes apart, so that the executor may assume neither
/// their order nor their distance.
uint32_t rowOf(uint32_t lane) { return kSimtSharedBase + (31 - lane) * 48; }

/// Fills shared memory with the 128 words of `in`, row by row. Loads matrices, and writes their registers to `out`.
template <uint32_t Count, bool Transposed> void loadMatrices(const Me &me) {
  uint32_t row[4];
  for (uint32_t i = 0; i < 4; ++i)
    row[i] = me.load(4 * me.thread() + i);
  me.ops->store_shared(me.lane, 2, 1, rowOf(me.thread()), 16, row);
  me.ops->barrier_warp(me.lane, 3);
  uint32_t words[4] = {};
  me.ops->load_matrices(me.lane, 4, rowOf(me.thread()), Count, Transposed, words);
  for (uint32_t i = 0; i < Count; ++i)
    me.store(4 * me.thread() + i, words[i]);
}

/// Returns an element of the matrices in `in`, which have 8 rows each.
uint32_t elementOf(const std::vector<int32_t> &in, uint32_t matrix, uint32_t row, uint32_t column) {
  return uint32_t(in[4 * (8 * matrix + row) + column / 2]) >> 16 * (column % 2) & 0xffff;
}

template <uint32_t Count, bool Transposed> void testLoadMatrices() {
  const auto in = randomWords(128, Count);
  const auto out = results({.kernel = asKernel<loadMatrices<Count, Transposed>>, .in = in, .out_words = 128});
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t matrix = 0; matrix < Count; ++matrix)
      for (uint32_t half = 0; half < 2; ++half) {
        const uint32_t row = lane / 4, column = lane % 4 * 2 + half;
        const uint32_t expected = Transposed ? elementOf(in, matrix, column, row) : elementOf(in, matrix, row, column);
        ASSERT_EQ(uint32_t(out[4 * lane + matrix]) >> 16 * half & 0xffff, expected) << lane << " " << matrix;
      }
}

TEST(SimtConformance, LoadMatrices) {
  testLoadMatrices<1, false>();
  testLoadMatrices<2, false>();
  testLoadMatrices<4, false>();
}
TEST(SimtConformance, LoadMatricesTransposed) {
  testLoadMatrices<1, true>();
  testLoadMatrices<2, true>();
  testLoadMatrices<4, true>();
}

/// Stores every lane's words as matrices, and loads them again.
template <bool Transposed> void storeAndLoadMatrices(const Me &me) {
  uint32_t words[4];
  for (uint32_t i = 0; i < 4; ++i)
    words[i] = me.load(4 * me.thread() + i);
  me.ops->store_matrices(me.lane, 2, rowOf(me.thread()), 4, Transposed, words);
  me.ops->barrier_warp(me.lane, 3);
  me.ops->load_matrices(me.lane, 4, rowOf(me.thread()), 4, Transposed, words);
  for (uint32_t i = 0; i < 4; ++i)
    me.store(4 * me.thread() + i, words[i]);
}

TEST(SimtConformance, StoreMatricesIsTheInverseOfLoadMatrices) {
  const auto in = randomWords(128, 1);
  EXPECT_EQ(results({.kernel = asKernel<storeAndLoadMatrices<false>>, .in = in, .out_words = 128}), in);
  EXPECT_EQ(results({.kernel = asKernel<storeAndLoadMatrices<true>>, .in = in, .out_words = 128}), in);
}

//===-- shfl ------------------------------------------------------------------------------------------------------===//

void shuffles(const Me &me) {
  const uint32_t value = me.load(me.thread());
  for (uint32_t mask = 1; mask < 32; ++mask)
    me.store(64 * mask + me.thread(), me.ops->shuffle(me.lane, 2, uint32_t(SimtShuffle::lane_xor), value, mask));
  me.store(me.thread(), me.ops->shuffle(me.lane, 3, uint32_t(SimtShuffle::index), value, 5));
}

TEST(SimtConformance, Shuffles) {
  const auto in = randomWords(64, 2);
  const auto out = results({.kernel = asKernel<shuffles>, .in = in, .out_words = 64 * 32, .threads = 64});
  for (uint32_t thread = 0; thread < 64; ++thread) {
    EXPECT_EQ(out[thread], in[thread / 32 * 32 + 5]);
    for (uint32_t mask = 1; mask < 32; ++mask)
      EXPECT_EQ(out[64 * mask + thread], in[thread ^ mask]);
  }
}

void votes(const Me &me) {
  const uint32_t predicate = me.load(me.thread()) & 1;
  for (SimtVote kind : {SimtVote::any, SimtVote::all, SimtVote::ballot})
    me.store(64 * uint32_t(kind) + me.thread(), me.ops->vote(me.lane, 2, uint32_t(kind), predicate));
}

TEST(SimtConformance, Votes) {
  std::vector<int32_t> in(64, 0);
  in[5] = in[31] = 1;
  std::fill(in.begin() + 32, in.end(), 1);
  const auto out = results({.kernel = asKernel<votes>, .in = in, .out_words = 192, .threads = 64});
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[lane], 1);
    EXPECT_EQ(out[64 + lane], 0);
    EXPECT_EQ(uint32_t(out[128 + lane]), 1U << 31 | 1U << 5);
    EXPECT_EQ(out[64 + 32 + lane], 1);
    EXPECT_EQ(uint32_t(out[128 + 32 + lane]), ~0U);
  }
}

//===-- cp.async --------------------------------------------------------------------------------------------------===//

/// Copies 16 bytes in each lane, of which lane l reads the first l / 2; the others become 0.
void copies(const Me &me) {
  me.ops->copy_async(me.lane, 2, kSimtSharedBase + 16 * me.thread(), me.in(4 * me.thread()), 16, me.thread() / 2);
  me.ops->commit_copies(me.lane, 3);
  me.ops->wait_copies(me.lane, 4, 0);
  for (uint32_t i = 0; i < 4; ++i)
    me.store(4 * me.thread() + i, me.read(5, 16 * me.thread() + 4 * i));
}

TEST(SimtConformance, CopiesFillWithZeros) {
  const auto in = randomWords(128, 3);
  for (SimtScheduler scheduler : {SimtScheduler::uniform, SimtScheduler::eager, SimtScheduler::lazy}) {
    const auto out =
        results({.kernel = asKernel<copies>, .in = in, .out_words = 128, .schedule = {.scheduler = scheduler}});
    const auto *from = reinterpret_cast<const unsigned char *>(in.data());
    const auto *to = reinterpret_cast<const unsigned char *>(out.data());
    for (uint32_t byte = 0; byte < 512; ++byte)
      EXPECT_EQ(to[byte], byte % 16 < byte / 16 / 2 ? from[byte] : 0) << byte;
  }
}

/// Starts three commit groups, and waits until the two oldest are complete.
void groups(const Me &me) {
  for (uint32_t group = 0; group < 3; ++group) {
    me.ops->copy_async(me.lane, 2, kSimtSharedBase + 512 * group + 16 * me.thread(), me.in(4 * me.thread()), 16, 16);
    me.ops->commit_copies(me.lane, 3);
  }
  me.ops->wait_copies(me.lane, 4, 1);
  me.store(me.thread(), me.read(5, 16 * me.thread()) + me.read(6, 512 + 16 * me.thread()));
  me.ops->wait_copies(me.lane, 7, 0);
}

TEST(SimtConformance, WaitsCountGroups) {
  const auto in = randomWords(128, 4);
  const auto out =
      results({.kernel = asKernel<groups>, .in = in, .out_words = 32, .schedule = {.scheduler = SimtScheduler::lazy}});
  for (uint32_t thread = 0; thread < 32; ++thread)
    EXPECT_EQ(uint32_t(out[thread]), 2 * uint32_t(in[4 * thread]));
}

//===-- red, and functions ----------------------------------------------------------------------------------------===//

void additions(const Me &me) {
  const float values[2] = {float(me.thread()), 1};
  me.ops->atomic_add(me.lane, 2, 1, me.out(0), uint32_t(SimtAtomic::f32), 2, values);
  me.ops->atomic_add(me.lane, 3, me.thread() % 2, me.out(2), uint32_t(SimtAtomic::i32), 1, "\1\0\0");
}

TEST(SimtConformance, AtomicAdditions) {
  const auto out = results({.kernel = asKernel<additions>, .in = {0}, .out_words = 3, .threads = 64, .instances = 100});
  // The sums start from the bits of -1: NaN, and -1.
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(out[0])));
  EXPECT_EQ(out[2], 100 * 32 - 1);
}

/// Takes the next number from a counter in each thread, and stores the thread index at that number.
void tickets(const Me &me) { me.store(2 + me.ops->fetch_increment(me.lane, 2, 1, me.out(0)), me.thread()); }

TEST(SimtConformance, AnIncrementFetchesWhatWasThere) {
  auto out =
      results({.kernel = asKernel<tickets>, .in = {0}, .out_words = 65, .threads = 64}); // The counter begins at -1.
  EXPECT_EQ(out[0], 63);
  std::sort(out.begin() + 1, out.end());
  for (int32_t thread = 0; thread < 64; ++thread)
    EXPECT_EQ(out[1 + thread], thread);
}

/// Raises the counter at -1 to 3 and to 2, which changes nothing, waits for numbers that have come, and reads it.
void raises(const Me &me) {
  if (me.thread() != 0)
    return;
  me.ops->turn_wait(me.lane, 2, me.out(0), -1);
  me.ops->turn_pass(me.lane, 3, me.out(0), 3);
  me.ops->turn_wait(me.lane, 4, me.out(0), 2);
  me.ops->turn_pass(me.lane, 5, me.out(0), 2);
  me.store(1, me.ops->turn_read(me.lane, 6, me.out(0)));
}

TEST(SimtConformance, ATurnOnlyGrows) {
  const std::vector<int32_t> out = results({.kernel = asKernel<raises>, .in = {0}, .out_words = 2});
  EXPECT_EQ(out[0], 3);
  EXPECT_EQ(out[1], 3);
}

/// Arrives three times at a counter that starts from 1 and wraps around after 2, and stores what was there.
void arrivals(const Me &me) {
  if (me.thread() != 0)
    return;
  me.store(0, 1);
  for (uint32_t i = 1; i < 4; ++i)
    me.store(i, me.ops->counter_arrive(me.lane, 2 + i, me.out(0), 2));
}

TEST(SimtConformance, AnArrivalWrapsAround) {
  const std::vector<int32_t> out = results({.kernel = asKernel<arrivals>, .in = {0}, .out_words = 4});
  EXPECT_EQ(out, (std::vector<int32_t>{1, 1, 2, 0}));
}

void functions(const Me &me) {
  const auto x = std::bit_cast<float>(me.load(me.thread()));
  me.store(5 * me.thread(), me.ops->exp2(x));
  me.store(5 * me.thread() + 1, me.ops->log2(x));
  me.store(5 * me.thread() + 2, me.ops->to_bf16(x));
  me.store(5 * me.thread() + 3, me.ops->to_tf32(x));
  me.store(5 * me.thread() + 4, me.ops->tanh(x));
}

TEST(SimtConformance, Functions) {
  std::vector<int32_t> in(32, 0);
  in[0] = std::bit_cast<int32_t>(3.0F);
  in[1] = std::bit_cast<int32_t>(-INFINITY);
  in[2] = 0x3f808000; // Halfway between two bf16 numbers: rounds to even.
  in[3] = 0x3f818000;
  in[4] = 0x3f801000; // Halfway between two tf32 numbers: rounds away from zero.
  const auto out = results({.kernel = asKernel<functions>, .in = in, .out_words = 160});
  EXPECT_EQ(std::bit_cast<float>(out[0]), 8);
  EXPECT_EQ(std::bit_cast<float>(out[5]), 0);
  EXPECT_EQ(std::bit_cast<float>(out[1]), std::log2(3.0F));
  EXPECT_EQ(out[5 * 2 + 2], 0x3f80);
  EXPECT_EQ(out[5 * 3 + 2], 0x3f82);
  EXPECT_EQ(out[5 * 4 + 3], 0x3f802000);
  EXPECT_NEAR(std::bit_cast<float>(out[4]), std::tanh(3.0), 1.0 / 2048);
  EXPECT_EQ(std::bit_cast<float>(out[5 + 4]), -1);
}

void narrowFloats(const Me &me) {
  const uint32_t word = me.load(me.thread());
  me.store(2 * me.thread(), me.ops->to_e4m3(std::bit_cast<float>(word)));
  me.store(2 * me.thread() + 1, me.ops->from_e4m3x2(word));
}

TEST(SimtConformance, NarrowFloats) {
  std::vector<int32_t> in(32, 0);
  in[0] = std::bit_cast<int32_t>(-1.0625F); // Halfway between two e4m3 numbers: rounds to even.
  in[1] = std::bit_cast<int32_t>(1e9F);     // The largest number.
  in[2] = std::bit_cast<int32_t>(NAN);
  in[3] = 0x7eb8; // 448 and -1.
  in[4] = 0x0180; // The least subnormal number and -0.
  const auto out = results({.kernel = asKernel<narrowFloats>, .in = in, .out_words = 64});
  EXPECT_EQ(out[0], 0xb8);
  EXPECT_EQ(out[2], 0x7e);
  EXPECT_EQ(out[4], 0x7f);
  EXPECT_EQ(uint32_t(out[7]), 0x5f00bc00);
  EXPECT_EQ(uint32_t(out[9]), 0x18008000);
}

} // namespace
