// SPDX-License-Identifier: MIT
#include "host/host_fixture.h"

#include <atomic>
#include <chrono>
#include <gmock/gmock.h>
#include <thread>

using namespace tegula::host;
using namespace tegula::test;

namespace {

TEST(Plan, OutlivesItsContext) {
  Expected<Plan> plan = Status{};
  {
    const Context context = makeContext();
    plan = context.plan(problem());
  }
  ASSERT_TRUE(isOk(plan.status()));
  Sequence sequence(33);
  ASSERT_TRUE(isOk(plan->forward(sequence.forward())));
  EXPECT_TRUE(sequence.isRight(problem()));
}

TEST(Plan, NeedsAWorkspaceForTheBackwardPass) {
  Expected<Plan> plan = makeContext().plan(problem());
  ASSERT_TRUE(isOk(plan.status()));
  auto shape = make<tegula_attention_shape>();
  shape.batch = shape.heads = shape.kv_heads = 1;
  shape.seqlen_q = shape.seqlen_k = 33;
  EXPECT_EQ(*plan->forwardWorkspace(shape), 0);
  const int64_t bytes = *plan->backwardWorkspace(shape);
  EXPECT_GT(bytes, 0);
  Sequence sequence(33);
  ASSERT_TRUE(isOk(plan->forward(sequence.forward())));
  EXPECT_EQ(plan->backward(sequence.backward()).code(), ErrorCode::invalid_argument);
  void *memory = std::aligned_alloc(64, static_cast<size_t>((bytes + 63) / 64 * 64));
  tegula_backward_args args = sequence.backward();
  args.workspace = memory;
  args.workspace_bytes = bytes;
  EXPECT_TRUE(isOk(plan->backward(args)));
  std::free(memory);
  shape.heads = -1;
  EXPECT_EQ(plan->backwardWorkspace(shape).status().code(), ErrorCode::invalid_argument);
}

/// Makes 10,000 look-ups. Run it with the thread sanitizer, too.
TEST(Plan, LookUpsFromManyThreadsFindTheSame) {
  const Context context = makeContext();
  ASSERT_TRUE(isOk(context.plan(problem()).status()));
  std::atomic<int> found{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 1250; ++i)
        found += bool(context.plan(problem()));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(found, 10'000);
  EXPECT_EQ(context.counters()->plans, 1);
}

TEST(Plan, ManyThreadsThatWantTheSameFirst) {
  const Context context = makeContext();
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      Sequence sequence(20 + t);
      right += context.forward(problem(), sequence.forward()).ok() && sequence.isRight(problem());
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, 8);
  EXPECT_EQ(context.counters()->plans, 1);
}

} // namespace
