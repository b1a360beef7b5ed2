// SPDX-License-Identifier: MIT
// wgmma on random operands: every type, swizzle and orientation, against layouts written down from the PTX manual.
#include "lanes.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>

using namespace tegula;
using namespace tegula::test;

namespace {

constexpr uint32_t kRows = 64, kSteps = 2;

struct Case {
  SimtMma type = SimtMma::Bf16;
  uint32_t columns = 64;
  uint32_t swizzle = 128; ///< Bytes.
  bool aInRegisters = false, aTransposed = false, bTransposed = false;

  uint32_t elementBytes() const { return type == SimtMma::Tf32 ? 4 : 2; }
  uint32_t stepDepth() const { return 32 / elementBytes(); }
  uint32_t depth() const { return kSteps * stepDepth(); }
};

/// Where an operand lies that has `rows` rows of `depth` elements along K (B: its columns count as rows).
struct Layout {
  const Case &c;
  uint32_t rows;
  bool transposed;

  uint32_t span() const { return c.swizzle; }
  /// Fields of the descriptor, in bytes.
  uint32_t leading() const {
    if (transposed)
      return span() == 0 ? 128 * (rows / 8) : c.depth() * span();
    return span() == 0 ? 128 : 16;
  }
  uint32_t stride() const {
    if (transposed)
      return span() == 0 ? 128 : 8 * span();
    return span() == 0 ? 128 * kSteps * 2 : 8 * span();
  }
  /// How far the operand of the next step along K begins.
  uint32_t step() const {
    if (transposed)
      return span() == 0 ? 2 * leading() : 16 * span();
    if (span() == 0)
      return 2 * 128;
    return span() >= 64 ? 32 : rows * span();
  }
  uint32_t bytes() const { return rows * std::max(c.depth() * c.elementBytes(), transposed ? 0 : span()); }

  /// Byte of an element.
  uint32_t at(uint32_t row, uint32_t k) const { return transposed ? transposedAt(row, k) : plainAt(row, k); }

private:
  static uint32_t swizzle(uint32_t line, uint32_t chunk, uint32_t span) {
    return span == 128 ? chunk ^ line % 8 : span == 64 ? chunk ^ line / 2 % 4 : chunk ^ line / 4 % 2;
  }
  /// K-major: 8 rows of 16 bytes without a swizzle; with one, lines of `span` bytes.
  uint32_t plainAt(uint32_t row, uint32_t k) const {
    const uint32_t byte = k * c.elementBytes(), chunk = byte / 16;
    if (span() == 0)
      return row / 8 * stride() + chunk * leading() + row % 8 * 16 + byte % 16;
    const uint32_t panel = byte / span(), chunkInPanel = chunk % (span() / 16);
    return panel * rows * span() + row * span() + swizzle(row, chunkInPanel, span()) * 16 + byte % 16;
  }
  /// Lines along the rows of A (columns of B), one for each k.
  uint32_t transposedAt(uint32_t row, uint32_t k) const {
    if (span() == 0)
      return row / 8 * stride() + k / 8 * leading() + k % 8 * 16 + row % 8 * 2;
    const uint32_t perSpan = span() / 2, inSpan = row % perSpan;
    return row / perSpan * leading() + k * span() + swizzle(k, inSpan / 8, span()) * 16 + inSpan % 8 * 2;
  }
};

/// Elements whose products and sums are exact.
struct Operands {
  std::vector<float> a, b, c; ///< [row][k], [column][k], [row][column].

  Operands(const Case &of, uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto fill = [&](std::vector<float> &values, size_t count) {
      for (size_t i = 0; i < count; ++i)
        values.push_back(float(int(random() % 65) - 32) / 8);
    };
    fill(a, size_t{kRows} * of.depth());
    fill(b, size_t{of.columns} * of.depth());
    fill(c, size_t{kRows} * of.columns);
  }
};

uint32_t bitsOf(SimtMma type, float x) {
  if (type == SimtMma::Bf16)
    return std::bit_cast<uint32_t>(x) >> 16;
  if (type == SimtMma::Tf32)
    return std::bit_cast<uint32_t>(x) | 0x1abc; // The low 13 bits are ignored.
  if (x == 0)
    return 0;
  int exponent = 0;
  const float fraction = std::frexp(std::abs(x), &exponent);
  return (x < 0 ? 0x8000U : 0U) | uint32_t(exponent + 14) << 10 | (uint32_t(fraction * 2048) & 0x3ff);
}

/// What the kernel below computes; there is one at a time.
struct Running {
  Case c;
  std::vector<uint8_t> shared; ///< The image of A and, 1024-byte aligned, of B.
  uint32_t bStart = 0;
};
Running running;

uint64_t descriptor(const Layout &layout, uint32_t start) {
  const uint64_t mode = layout.span() == 0 ? 0 : layout.span() == 128 ? 1 : layout.span() == 64 ? 2 : 3;
  const auto field = [](uint32_t bytes) { return uint64_t{(bytes >> 4) & 0x3fff}; };
  return field(kSimtSharedBase + start) | field(layout.leading()) << 16 | field(layout.stride()) << 32 | mode << 62;
}

/// Element i of register r of A, from "WGMMA .m64k16 register fragment".
uint32_t aRow(uint32_t lane, uint32_t r) { return lane / 32 * 16 + lane % 32 / 4 + (r == 1 || r == 3 ? 8 : 0); }

void multiply(const Me &me) {
  const Case &c = running.c;
  const uint32_t lane = me.thread();
  for (uint32_t i = 4 * lane; i < running.shared.size(); i += 4 * 128)
    me.ops->store_shared(me.lane, 2, 1, kSimtSharedBase + i, 4, &running.shared[i]);
  me.ops->fence_proxy(me.lane, 3, uint32_t(SimtFence::AsyncProxy));
  me.barrier(4);
  uint32_t d[128];
  for (uint32_t i = 0; i < c.columns / 2; ++i)
    d[i] = me.load(lane * c.columns / 2 + i);
  me.ops->wgmma_fence(me.lane, 5);
  const Layout a{c, kRows, c.aTransposed}, b{c, c.columns, c.bTransposed};
  for (uint32_t step = 0; step < kSteps; ++step) {
    SimtWgmma product{.type = uint32_t(c.type),
                      .columns = c.columns,
                      .a_in_registers = c.aInRegisters,
                      .a_transposed = c.aTransposed,
                      .b_transposed = c.bTransposed,
                      .a_descriptor = descriptor(a, step * a.step()),
                      .b_descriptor = descriptor(b, running.bStart + step * b.step())};
    const uint32_t perWord = 4 / c.elementBytes();
    for (uint32_t r = 0; c.aInRegisters && r < 4; ++r) {
      const uint32_t k = step * c.stepDepth() + lane % 4 * perWord + (r >= 2 ? 4 * perWord : 0);
      std::memcpy(&product.a[r], &running.shared[a.at(aRow(lane, r), k)], 4);
    }
    me.ops->wgmma(me.lane, 6, &product, d);
  }
  me.ops->wgmma_commit(me.lane, 7);
  me.ops->wgmma_wait(me.lane, 8, 0, c.columns / 2, d);
  for (uint32_t i = 0; i < c.columns / 2; ++i)
    me.store(lane * c.columns / 2 + i, d[i]);
}

/// Row and column of a lane's accumulator i, from "WGMMA .m64nNk16 D fragment".
std::pair<uint32_t, uint32_t> place(uint32_t lane, uint32_t i) {
  const uint32_t row = lane / 32 * 16 + lane % 32 / 4 + (i % 4 >= 2 ? 8 : 0);
  return {row, i / 4 * 8 + lane % 4 * 2 + i % 2};
}

void expectProduct(const Case &c, uint64_t seed) {
  const Operands operands(c, seed);
  const Layout a{c, kRows, c.aTransposed}, b{c, c.columns, c.bTransposed};
  running = {.c = c, .shared = {}, .bStart = (a.bytes() + 1023) / 1024 * 1024};
  running.shared.resize(running.bStart + b.bytes());
  const auto put = [&](const Layout &layout, uint32_t start, const std::vector<float> &values) {
    for (uint32_t row = 0; row < layout.rows; ++row)
      for (uint32_t k = 0; k < c.depth(); ++k) {
        const uint32_t bits = bitsOf(c.type, values[row * c.depth() + k]);
        std::memcpy(&running.shared[start + layout.at(row, k)], &bits, c.elementBytes());
      }
  };
  put(a, 0, operands.a);
  put(b, running.bStart, operands.b);
  std::vector<int32_t> in;
  for (uint32_t lane = 0; lane < 128; ++lane)
    for (uint32_t i = 0; i < c.columns / 2; ++i) {
      const auto [row, column] = place(lane, i);
      in.push_back(std::bit_cast<int32_t>(operands.c[row * c.columns + column]));
    }
  const auto out = results({.kernel = asKernel<multiply>,
                            .in = in,
                            .out_words = in.size(),
                            .threads = 128,
                            .shared_bytes = uint32_t(running.shared.size()),
                            .schedule = {.scheduler = SimtScheduler(seed % 4), .seed = seed}});
  for (uint32_t lane = 0; lane < 128; ++lane)
    for (uint32_t i = 0; i < c.columns / 2; ++i) {
      const auto [row, column] = place(lane, i);
      float sum = operands.c[row * c.columns + column];
      for (uint32_t k = 0; k < c.depth(); ++k)
        sum += operands.a[row * c.depth() + k] * operands.b[column * c.depth() + k];
      ASSERT_EQ(std::bit_cast<float>(out[lane * c.columns / 2 + i]), sum) << lane << " " << i;
    }
}

void expectProducts(Case c) {
  for (SimtMma type : {SimtMma::Bf16, SimtMma::F16, SimtMma::Tf32})
    for (uint32_t swizzle : {0, 32, 64, 128})
      for (uint32_t columns : {64, 128, 192}) {
        c.type = type;
        c.swizzle = swizzle;
        c.columns = columns;
        if (type == SimtMma::Tf32 && (c.aTransposed || c.bTransposed))
          continue; // K-major only.
        SCOPED_TRACE(testing::Message() << int(type) << " swizzle " << swizzle << " columns " << columns);
        expectProduct(c, swizzle + columns);
      }
}

TEST(SimtProducts, OfSharedMemory) { expectProducts({}); }
TEST(SimtProducts, OfRegistersAndSharedMemory) { expectProducts({.aInRegisters = true}); }
TEST(SimtProducts, TransposedA) { expectProducts({.aTransposed = true}); }
TEST(SimtProducts, TransposedB) { expectProducts({.bTransposed = true}); }
TEST(SimtProducts, TransposedBothAndRegisters) {
  expectProducts({.aTransposed = true, .bTransposed = true});
  expectProducts({.aInRegisters = true, .bTransposed = true});
}
TEST(SimtProducts, AnyMultipleOfEightColumns) {
  for (uint32_t columns = 8; columns <= 256; columns += 8)
    expectProduct({.columns = columns}, columns);
}

} // namespace
