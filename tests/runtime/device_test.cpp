// SPDX-License-Identifier: MIT
#include "fixture.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <sched.h>
#include <thread>

using namespace tegula;
using namespace tegula::test;

namespace {

/// Returns the number of threads of this process whose name starts with "tegula-cpu-".
int poolThreads();

TEST(Device, NamesItself) {
  EXPECT_EQ(makeDevice()->name(), "cpu");
  EXPECT_EQ(makeDevice()->target().name, "cpu");
}

TEST(Device, RefusesImpossibleThreadCounts) {
  EXPECT_ERROR(cpuDevice({.threads = -1}).status(), ErrorCode::invalid_argument,
               "threads is -1, but must be 0 to 1024");
  EXPECT_ERROR(cpuDevice({.threads = 1025}).status(), ErrorCode::invalid_argument,
               "threads is 1025, but must be 0 to 1024");
}

TEST(Device, AllocatesAlignedMemory) {
  for (const int64_t bytes : {1, 63, 64, 65, 1000000}) {
    const Expected<Buffer> buffer = makeDevice()->allocate(bytes);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(buffer->bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 64, 0u);
  }
  const Expected<Buffer> empty = makeDevice()->allocate(0);
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->data(), nullptr);
}

TEST(Device, RefusesImpossibleAllocations) {
  EXPECT_ERROR(makeDevice()->allocate(-5).status(), ErrorCode::invalid_argument, "-5 bytes: a size is not negative");
  EXPECT_ERROR(makeDevice()->allocate(std::numeric_limits<int64_t>::max()).status(), ErrorCode::resource_exhausted,
               "no memory for 9223372036854775807 bytes");
  EXPECT_ERROR(makeDevice()->allocate(int64_t{1} << 60).status(), ErrorCode::resource_exhausted,
               "no memory for 1152921504606846976 bytes");
}

TEST(Device, MovesBuffers) {
  Expected<Buffer> buffer = makeDevice()->allocate(100);
  ASSERT_TRUE(buffer.ok());
  void *data = buffer->data();
  Buffer moved = std::move(*buffer);
  EXPECT_EQ(buffer->data(), nullptr);
  EXPECT_EQ(buffer->bytes(), 0);
  Buffer assigned;
  assigned = std::move(moved);
  EXPECT_EQ(assigned.data(), data);
  EXPECT_EQ(assigned.bytes(), 100);
  EXPECT_EQ(moved.bytes(), 0);
}

TEST(Device, CopiesBothWays) {
  const auto device = makeDevice();
  const Expected<Buffer> buffer = device->allocate(12);
  const std::vector<int32_t> sent{1, 2, 3};
  std::vector<int32_t> received(3);
  EXPECT_OK(device->copyToDevice(buffer->data(), sent.data(), 12));
  EXPECT_OK(device->copyToHost(received.data(), buffer->data(), 12));
  EXPECT_OK(device->synchronize());
  EXPECT_EQ(received, sent);
}

TEST(Device, RefusesWrongCopies) {
  const auto device = makeDevice();
  int value = 0;
  EXPECT_OK(device->copyToHost(nullptr, nullptr, 0));
  EXPECT_ERROR(device->copyToHost(&value, nullptr, 4), ErrorCode::invalid_argument, "the source of a copy is null");
  EXPECT_ERROR(device->copyToDevice(nullptr, &value, 4), ErrorCode::invalid_argument,
               "the destination of a copy is null");
  EXPECT_ERROR(device->copyToDevice(&value, &value, -4), ErrorCode::invalid_argument,
               "-4 bytes: a size is not negative");
  EXPECT_ERROR(device->copyToDevice(&value, &value, 4, {&value}), ErrorCode::invalid_argument,
               "the cpu has only the default stream, whose handle is null");
  EXPECT_ERROR(device->synchronize({&value}), ErrorCode::invalid_argument,
               "the cpu has only the default stream, whose handle is null");
}

TEST(Device, ReportsMemory) {
  const Expected<MemoryInfo> memory = makeDevice()->memory();
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  EXPECT_GT(memory->available_bytes, 0);
  EXPECT_LE(memory->available_bytes, memory->total_bytes);
}

TEST(Device, TimesWork) {
  const auto device = makeDevice();
  const auto timer = device->makeTimer();
  ASSERT_TRUE(timer.ok());
  int foreign = 0;
  EXPECT_ERROR((*timer)->start({&foreign}), ErrorCode::invalid_argument,
               "the cpu has only the default stream, whose handle is null");
  EXPECT_OK((*timer)->start());
  EXPECT_ERROR((*timer)->milliseconds().status(), ErrorCode::invalid_argument,
               "the timer has no start with a stop after it");
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_OK((*timer)->stop());
  const Expected<double> time = (*timer)->milliseconds();
  ASSERT_TRUE(time.ok());
  EXPECT_GE(*time, 2.0);
  EXPECT_OK((*timer)->start());
  EXPECT_ERROR((*timer)->milliseconds().status(), ErrorCode::invalid_argument,
               "the timer has no start with a stop after it");
}

TEST(Device, StartsThreadsWithTheFirstLaunchThatNeedsThem) {
  const auto device = makeDevice(4);
  const auto count = load(device, artifact("count", {written("counts", i32)}));
  std::vector<int32_t> counts(100);
  EXPECT_OK(count->launch({1}, {view(counts)}));
  EXPECT_EQ(poolThreads(), 0);
  const auto rendezvous = load(device, artifact("rendezvous", {written("arrived", i32)}));
  std::vector<int32_t> arrived(1);
  EXPECT_OK(rendezvous->launch({4}, {view(arrived)}));
  EXPECT_EQ(poolThreads(), 3);
}

TEST(Device, CountsTheCoresOfTheCallersAffinityMask) {
  std::thread([] {
    cpu_set_t before, one;
    sched_getaffinity(0, sizeof before, &before);
    CPU_ZERO(&one);
    for (int core = 0; CPU_COUNT(&one) == 0; ++core)
      if (CPU_ISSET(core, &before))
        CPU_SET(core, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    const auto count = load(makeDevice(), artifact("count", {written("counts", i32)}));
    std::vector<int32_t> counts(1000);
    EXPECT_OK(count->launch({1000}, {view(counts)}));
    EXPECT_EQ(poolThreads(), 0);
  }).join();
}

int poolThreads() {
  int count = 0;
  for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    count += name.rfind("tegula-cpu-", 0) == 0;
  }
  return count;
}

} // namespace
