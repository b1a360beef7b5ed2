// SPDX-License-Identifier: MIT
// Tests wgmma on random operands of every type, swizzle and orientation, against layouts from the PTX manual.
#include "products.h"

#include <gtest/gtest.h>

using namespace tegula;
using namespace tegula::test;

namespace {

/// The MMA that the kernel below computes. Only one kernel runs at a time.
struct Running {
  ProductCase c;
  std::vector<uint8_t> shared;
  uint32_t bStart = 0;
};
Running running;

void multiply(const Me &me) {
  const ProductCase &c = running.c;
  const uint32_t lane = me.thread();
  for (uint32_t i = 4 * lane; i < running.shared.size(); i += 4 * 128)
    me.ops->store_shared(me.lane, 2, 1, kSimtSharedBase + i, 4, &running.shared[i]);
  me.ops->fence_proxy(me.lane, 3, uint32_t(SimtFence::async_proxy));
  me.barrier(4);
  uint32_t d[128];
  for (uint32_t i = 0; i < c.columns / 2; ++i)
    d[i] = me.load(lane * c.columns / 2 + i);
  me.ops->wgmma_fence(me.lane, 5);
  const OperandLayout a{c, kRows, c.aTransposed}, b{c, c.columns, c.bTransposed};
  for (uint32_t step = 0; step < kSteps; ++step) {
    SimtWgmma product{.type = uint32_t(c.type),
                      .columns = c.columns,
                      .a_in_registers = c.aInRegisters,
                      .a_transposed = c.aTransposed,
                      .b_transposed = c.bTransposed,
                      .a_descriptor = descriptor(a, step * a.step()),
                      .b_descriptor = descriptor(b, running.bStart + step * b.step())};
    for (uint32_t r = 0; c.aInRegisters && r < 4; ++r)
      std::memcpy(&product.a[r], &running.shared[a.at(aRow(lane, r), aDepth(c, lane, r, step))], 4);
    me.ops->wgmma(me.lane, 6, &product, d);
  }
  me.ops->wgmma_commit(me.lane, 7);
  me.ops->wgmma_wait(me.lane, 8, 0, c.columns / 2, d);
  for (uint32_t i = 0; i < c.columns / 2; ++i)
    me.store(lane * c.columns / 2 + i, d[i]);
}

void expectProduct(const ProductCase &c, uint64_t seed) {
  const MmaOperands operands(c, seed);
  const ProductImage image(c, operands);
  running = {.c = c, .shared = image.bytes, .bStart = image.b_start};
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
                            .schedule = {.scheduler = SimtScheduler(seed % kSimtSchedulers), .seed = seed}});
  for (uint32_t lane = 0; lane < 128; ++lane)
    for (uint32_t i = 0; i < c.columns / 2; ++i) {
      const auto [row, column] = place(lane, i);
      float sum = operands.c[row * c.columns + column];
      for (uint32_t k = 0; k < c.depth(); ++k)
        sum += operands.a[row * c.depth() + k] * operands.b[column * c.depth() + k];
      ASSERT_EQ(std::bit_cast<float>(out[lane * c.columns / 2 + i]), sum) << lane << " " << i;
    }
}

void expectProducts(ProductCase c) {
  for (SimtMma type : {SimtMma::bf16, SimtMma::f16, SimtMma::tf32, SimtMma::e4m3})
    for (uint32_t swizzle : {0, 32, 64, 128})
      for (uint32_t columns : {64, 128, 192}) {
        c.type = type;
        c.swizzle = swizzle;
        c.columns = columns;
        if (c.mustBeKMajor() && (c.aTransposed || c.bTransposed))
          continue;
        SCOPED_TRACE(testing::Message() << int(type) << " swizzle " << swizzle << " columns " << columns);
        expectProduct(c, swizzle + columns);
      }
}

TEST(SimtMmas, OfSharedMemory) { expectProducts({}); }
TEST(SimtMmas, OfRegistersAndSharedMemory) { expectProducts({.aInRegisters = true}); }
TEST(SimtMmas, TransposedA) { expectProducts({.aTransposed = true}); }
TEST(SimtMmas, TransposedB) { expectProducts({.bTransposed = true}); }
TEST(SimtMmas, TransposedBothAndRegisters) {
  expectProducts({.aTransposed = true, .bTransposed = true});
  expectProducts({.aInRegisters = true, .bTransposed = true});
}
TEST(SimtMmas, AnyMultipleOfEightColumns) {
  for (uint32_t columns = 8; columns <= 256; columns += 8)
    expectProduct({.columns = columns}, columns);
}

} // namespace
