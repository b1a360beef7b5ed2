// SPDX-License-Identifier: MIT
// Tests tcgen05: products whose results go to tensor memory, as a lane starts them and a warpgroup loads them; and
// kernels with one error each, which every schedule finds.
#include "products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tegula;
using namespace tegula::test;

namespace {

constexpr uint32_t kRowsOfTensor = 128, kThreads = 128, kAllocated = 256, kAtOnce = 32;
constexpr uint32_t kAddress = 0, kOver = 8, kOperands = 1024; ///< Offsets in shared memory.

/// The mistakes of a kernel.
struct Defect {
  bool noProxyFence = false, noCommit = false, noWait = false, noFenceAfter = false, noFenceBefore = false;
  bool noWaitLoad = false, noDealloc = false, overwrites = false, neverStarts = false, otherColumns = false;
  bool accumulatesFirst = false;
};

/// The MMA that the kernel below computes. Only one kernel runs at a time.
struct Running {
  ProductCase c;
  std::vector<uint8_t> shared;
  uint32_t bStart = 0;
  Defect defect = {};
};
Running running;

uint64_t descriptorOf(const OperandLayout &layout, uint32_t start) {
  const uint64_t version = 1, mode = layout.span() == 0 ? 0 : layout.span() == 128 ? 2 : layout.span() == 64 ? 4 : 6;
  constexpr uint64_t fields = (uint64_t{1} << 46) - 1;
  return (descriptor(layout, start) & fields) | version << 46 | mode << 61;
}

uint32_t instructionOf(const ProductCase &c) {
  const uint32_t element = c.type == SimtMma::bf16 ? 1 : 0;
  return 1U << 4 | element << 7 | element << 10 | uint32_t(c.aTransposed) << 15 | uint32_t(c.bTransposed) << 16 |
         c.columns / 8 << 17 | kRowsOfTensor / 16 << 24;
}

void start(const Me &me, uint32_t to) {
  const ProductCase &c = running.c;
  const OperandLayout a{c, kRowsOfTensor, c.aTransposed}, b{c, c.columns, c.bTransposed};
  for (uint32_t step = 0; step < kSteps && !running.defect.neverStarts; ++step)
    me.ops->tensor_mma(me.lane, 8, to, descriptorOf(a, kOperands + step * a.step()),
                       descriptorOf(b, kOperands + running.bStart + step * b.step()), instructionOf(c),
                       step > 0 || running.defect.accumulatesFirst);
  if (!running.defect.noCommit)
    me.ops->tensor_commit(me.lane, 9, kSimtSharedBase + kOver);
  if (running.defect.overwrites)
    me.write(10, kOperands, 0);
}

void load(const Me &me, uint32_t from) {
  const uint32_t warp = me.thread() / 32;
  for (uint32_t column = 0; column < running.c.columns; column += kAtOnce) {
    uint32_t words[kAtOnce];
    me.ops->tensor_load(me.lane, 13, from + (warp * 32 << 16) + column, kAtOnce, words);
    if (!running.defect.noWaitLoad)
      me.ops->tensor_wait_load(me.lane, 14, kAtOnce, words);
    for (uint32_t i = 0; i < kAtOnce; ++i)
      me.store(me.thread() * running.c.columns + column + i, words[i]);
  }
}

void multiply(const Me &me) {
  const Defect &defect = running.defect;
  const bool isFirstWarp = me.thread() < 32;
  for (uint32_t i = 4 * me.thread(); i < running.shared.size(); i += 4 * kThreads) {
    uint32_t word = 0;
    std::memcpy(&word, &running.shared[i], 4);
    me.write(2, kOperands + i, word);
  }
  if (me.thread() == 0) {
    me.ops->mbarrier_init(me.lane, 3, 1, kSimtSharedBase + kOver, 1);
    me.ops->fence_proxy(me.lane, 4, uint32_t(SimtFence::mbarrier_init));
  }
  if (!defect.noProxyFence)
    me.ops->fence_proxy(me.lane, 5, uint32_t(SimtFence::async_proxy));
  if (isFirstWarp) {
    me.ops->tensor_alloc(me.lane, 6, kSimtSharedBase + kAddress, kAllocated);
    me.ops->tensor_relinquish(me.lane, 19);
  }
  me.barrier(7);
  const uint32_t at = me.read(18, kAddress), place = at + (defect.otherColumns ? kAllocated : 0);
  if (me.thread() == 0)
    start(me, place);
  if (!defect.noWait)
    me.ops->mbarrier_wait(me.lane, 11, kSimtSharedBase + kOver, 0, 1);
  if (!defect.noFenceAfter)
    me.ops->tensor_fence(me.lane, 12, uint32_t(SimtTensorFence::after));
  load(me, place);
  if (!defect.noFenceBefore)
    me.ops->tensor_fence(me.lane, 15, uint32_t(SimtTensorFence::before));
  me.barrier(16);
  me.ops->tensor_fence(me.lane, 12, uint32_t(SimtTensorFence::after));
  if (isFirstWarp && !defect.noDealloc)
    me.ops->tensor_dealloc(me.lane, 17, at, kAllocated);
}

/// The operands of 128 rows: those of two cases of 64 rows.
struct TallOperands {
  MmaOperands upper, lower;

  TallOperands(const ProductCase &c, uint64_t seed) : upper(c, seed), lower(c, seed + 1) {
    upper.a.insert(upper.a.end(), lower.a.begin(), lower.a.end());
  }
  const std::vector<float> &a() const { return upper.a; }
  const std::vector<float> &b() const { return upper.b; }
};

void place(const ProductCase &c, const OperandLayout &layout, uint32_t start, const std::vector<float> &values) {
  for (uint32_t row = 0; row < layout.rows; ++row)
    for (uint32_t k = 0; k < c.depth(); ++k) {
      const uint32_t bits = bitsOf(c.type, values[row * c.depth() + k]);
      std::memcpy(&running.shared[start + layout.at(row, k)], &bits, c.elementBytes());
    }
}

Outcome runProduct(const ProductCase &c, const TallOperands &operands, const Defect &defect,
                   const SimtInterleaving &schedule) {
  const OperandLayout a{c, kRowsOfTensor, c.aTransposed}, b{c, c.columns, c.bTransposed};
  running = {.c = c, .bStart = (a.bytes() + 1023) / 1024 * 1024, .defect = defect};
  running.shared.assign(running.bStart + b.bytes(), 0);
  place(c, a, 0, operands.a());
  place(c, b, running.bStart, operands.b());
  return run({.kernel = asKernel<multiply>,
              .in = {0},
              .out_words = size_t{kRowsOfTensor} * c.columns,
              .threads = kThreads,
              .shared_bytes = uint32_t(kOperands + running.shared.size()),
              .schedule = schedule});
}

void expectProduct(const ProductCase &c, uint64_t seed) {
  const TallOperands operands(c, seed);
  const Outcome outcome =
      runProduct(c, operands, {}, {.scheduler = SimtScheduler(seed % kSimtSchedulers), .seed = seed});
  for (const SimtFinding &finding : outcome.findings)
    ADD_FAILURE() << finding.message;
  for (uint32_t row = 0; row < kRowsOfTensor; ++row)
    for (uint32_t column = 0; column < c.columns; ++column) {
      float sum = 0;
      for (uint32_t k = 0; k < c.depth(); ++k)
        sum += operands.a()[row * c.depth() + k] * operands.b()[column * c.depth() + k];
      ASSERT_EQ(std::bit_cast<float>(outcome.out[row * c.columns + column]), sum) << row << " " << column;
    }
}

TEST(SimtTensorMemory, ProductsOfEveryTypeSwizzleAndOrientation) {
  for (SimtMma type : {SimtMma::bf16, SimtMma::f16})
    for (uint32_t swizzle : {0, 32, 64, 128})
      for (bool aTransposed : {false, true})
        for (bool bTransposed : {false, true}) {
          SCOPED_TRACE(testing::Message() << int(type) << " swizzle " << swizzle << aTransposed << bTransposed);
          expectProduct({.type = type,
                         .columns = 128,
                         .swizzle = swizzle,
                         .aTransposed = aTransposed,
                         .bTransposed = bTransposed},
                        swizzle + 2 * aTransposed + bTransposed);
        }
}

TEST(SimtTensorMemory, AnyNumberOfColumns) {
  for (uint32_t columns = 32; columns <= 256; columns += 32)
    expectProduct({.columns = columns}, columns);
}

void expectFault(const Defect &defect, SimtErrorKind fault, const std::string &text) {
  const ProductCase c{.columns = 64};
  const TallOperands operands(c, 1);
  for (uint32_t scheduler = 0; scheduler < kSimtSchedulers; ++scheduler)
    for (uint64_t seed = 0; seed < 3; ++seed) {
      const Outcome outcome = runProduct(c, operands, defect, {.scheduler = SimtScheduler(scheduler), .seed = seed});
      EXPECT_THAT(outcome.findings,
                  testing::Contains(testing::AllOf(testing::Field(&SimtFinding::fault, fault),
                                                   testing::Field(&SimtFinding::message, testing::HasSubstr(text)))));
    }
}

TEST(SimtTensorMemory, OperandsThatTheAsyncProxyDoesNotSee) {
  expectFault({.noProxyFence = true}, SimtErrorKind::missing_fence, "without fence.proxy.async");
}
TEST(SimtTensorMemory, NoCommit) { expectFault({.noCommit = true}, SimtErrorKind::deadlock, "(op11 at"); }
TEST(SimtTensorMemory, NoWaitForTheCommit) {
  expectFault({.noWait = true}, SimtErrorKind::unwaited_copy,
              "unwaited copy on tensor memory, lane 0 column 0: write by");
}
TEST(SimtTensorMemory, NoFenceAfterTheWait) {
  expectFault({.noFenceAfter = true}, SimtErrorKind::missing_fence, "without tcgen05.fence between");
}
TEST(SimtTensorMemory, NoFenceBeforeTheBarrier) {
  expectFault({.noFenceBefore = true}, SimtErrorKind::missing_fence, "then write by warp 0 lane 0 (op17 at");
}
TEST(SimtTensorMemory, NoWaitForTheLoad) {
  expectFault({.noWaitLoad = true}, SimtErrorKind::pending_copy, "(op13 at kernel.cpp:13) is not waited for");
}
TEST(SimtTensorMemory, OperandsThatAreOverwritten) {
  expectFault({.overwrites = true}, SimtErrorKind::unwaited_copy, "bulk read by warp 0 lane 0 (op8 at");
}
TEST(SimtTensorMemory, ColumnsThatStayAllocated) {
  expectFault({.noDealloc = true}, SimtErrorKind::pending_copy, "allocates columns that are never deallocated");
}
TEST(SimtTensorMemory, ReadsOfWhatNobodyWrote) {
  expectFault({.neverStarts = true}, SimtErrorKind::uninitialised, "that no MMA has written, tensor memory, lane");
  expectFault({.accumulatesFirst = true}, SimtErrorKind::uninitialised, "that no MMA has written, tensor memory, lane");
}
TEST(SimtTensorMemory, ColumnsThatNobodyAllocated) {
  expectFault({.otherColumns = true}, SimtErrorKind::out_of_bounds, "of columns that are not allocated");
}

} // namespace
