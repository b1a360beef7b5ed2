// SPDX-License-Identifier: MIT
// Tests the cuda device if all calls of the driver succeed, and what the device refuses without the driver.
#include "cuda_fixture.h"

#include <limits>
#include <thread>

using namespace tegula;
using namespace tegula::test;

namespace {

TEST_F(Cuda, ListsGpus) {
  stand_in::setGpus(2);
  const auto devices = cudaDevices();
  ASSERT_TRUE(devices.ok()) << devices.status().message();
  ASSERT_EQ(devices->size(), 2u);
  const CudaDeviceInfo &info = (*devices)[0];
  EXPECT_EQ(info.name, "Stand-in GPU 0");
  EXPECT_EQ(info.ordinal, 0);
  EXPECT_EQ(info.arch, "sm_90a");
  EXPECT_EQ(info.compute_capability, 90);
  EXPECT_EQ(info.multiprocessors, 132);
  EXPECT_EQ(info.memory_bytes, int64_t{80} << 30);
  EXPECT_EQ(info.l2_bytes, 50 << 20);
  EXPECT_EQ(info.shared_bytes_per_block, 227 * 1024);
  EXPECT_EQ(info.shared_bytes_per_multiprocessor, 228 * 1024);
  EXPECT_EQ(info.memory_bus_bits, 5120);
  EXPECT_EQ(info.driver_version, 13000);
  EXPECT_EQ(info.max_clock_mhz, 1980);
  EXPECT_EQ(info.max_memory_clock_mhz, 2619);
  EXPECT_EQ(info.power_limit_watts, 700);
  EXPECT_EQ((*devices)[1].ordinal, 1);
  EXPECT_EQ((*devices)[1].power_limit_watts, 0);
}

TEST_F(Cuda, ListsNothingWhereTheDriverFindsNoGpu) {
  stand_in::setGpus(0);
  const auto devices = cudaDevices();
  ASSERT_TRUE(devices.ok()) << devices.status().message();
  EXPECT_TRUE(devices->empty());
  EXPECT_ERROR(cudaDevice().status(), ErrorCode::invalid_argument, "there is no GPU 0: the driver finds 0");
}

TEST_F(Cuda, KnowsNoPowerLimitWithoutTheManagementLibrary) {
  const Variable libnvml("TEGULA_LIBNVML", "/nowhere/libnvidia-ml.so");
  EXPECT_EQ((*cudaDevices())[0].power_limit_watts, 0);
}

TEST_F(Cuda, RefusesGpusThatDoNotExistOrAreTooOld) {
  EXPECT_ERROR(cudaDevice({.ordinal = 1}).status(), ErrorCode::invalid_argument,
               "there is no GPU 1: the driver finds 1");
  EXPECT_ERROR(cudaDevice({.ordinal = -1}).status(), ErrorCode::invalid_argument,
               "there is no GPU -1: the driver finds 1");
  stand_in::setCapability(7, 5);
  EXPECT_ERROR(cudaDevice().status(), ErrorCode::unsupported,
               "GPU 0 (Stand-in GPU 0) is sm_75, but sm_80 is the oldest that kernels run on");
}

TEST_F(Cuda, NamesItself) {
  const auto device = makeCuda();
  EXPECT_EQ(device->name(), "Stand-in GPU 0");
  EXPECT_EQ(device->target().name, "cuda");
  EXPECT_EQ(device->target().arch, "sm_90a");
}

TEST_F(Cuda, AllocatesAlignedMemory) {
  const auto device = makeCuda();
  for (const int64_t bytes : {1, 63, 1000000}) {
    const Expected<Buffer> buffer = device->allocate(bytes);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(buffer->bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 64, 0u);
    EXPECT_EQ(stand_in::alive().allocations, 1);
  }
  EXPECT_EQ(device->allocate(0)->data(), nullptr);
}

TEST_F(Cuda, RefusesImpossibleAllocations) {
  const auto device = makeCuda();
  EXPECT_ERROR(device->allocate(-5).status(), ErrorCode::invalid_argument, "-5 bytes: a size is not negative");
  EXPECT_ERROR(device->allocate(std::numeric_limits<int64_t>::max()).status(), ErrorCode::resource_exhausted,
               "no memory for 9223372036854775807 bytes: cuMemAlloc_v2 failed: CUDA_ERROR_OUT_OF_MEMORY (out of "
               "memory)");
}

TEST_F(Cuda, CopiesBothWays) {
  const auto device = makeCuda();
  const Expected<Buffer> buffer = device->allocate(12);
  const std::vector<int32_t> sent{1, 2, 3};
  std::vector<int32_t> received(3);
  EXPECT_OK(device->copyToDevice(buffer->data(), sent.data(), 12));
  EXPECT_OK(device->copyToHost(received.data(), buffer->data(), 12));
  EXPECT_OK(device->synchronize());
  EXPECT_EQ(received, sent);
}

TEST_F(Cuda, RefusesWrongCopies) {
  const auto device = makeCuda();
  int value = 0;
  stand_in::forgetCalls();
  EXPECT_OK(device->copyToHost(nullptr, nullptr, 0));
  EXPECT_ERROR(device->copyToHost(&value, nullptr, 4), ErrorCode::invalid_argument, "the source of a copy is null");
  EXPECT_ERROR(device->copyToDevice(nullptr, &value, 4), ErrorCode::invalid_argument,
               "the destination of a copy is null");
  EXPECT_ERROR(device->copyToDevice(&value, &value, -4), ErrorCode::invalid_argument,
               "-4 bytes: a size is not negative");
  EXPECT_EQ(stand_in::calls(), std::vector<std::string>());
}

TEST_F(Cuda, ReportsMemory) {
  const Expected<MemoryInfo> memory = makeCuda()->memory();
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(memory->available_bytes, int64_t{79} << 30);
  EXPECT_EQ(memory->total_bytes, int64_t{80} << 30);
}

TEST_F(Cuda, TimesWork) {
  const auto device = makeCuda();
  const auto timer = device->makeTimer();
  ASSERT_TRUE(timer.ok());
  const auto expectNoInterval = [&] {
    EXPECT_ERROR((*timer)->milliseconds().status(), ErrorCode::invalid_argument,
                 "the timer has no start with a stop after it");
  };
  expectNoInterval();
  EXPECT_OK((*timer)->stop());
  expectNoInterval();
  for (int round = 0; round < 2; ++round) {
    EXPECT_OK((*timer)->start());
    expectNoInterval();
    EXPECT_OK((*timer)->stop());
    EXPECT_EQ(*(*timer)->milliseconds(), 1.0); // The stand-in's clock ticks with each record.
  }
}

TEST_F(Cuda, EverythingOutlivesTheDevice) {
  auto device = makeCuda();
  const auto kernel = load(device, cudaArtifact("kernel"));
  const auto timer = device->makeTimer();
  const Expected<Buffer> buffer = device->allocate(1);
  device.reset();
  EXPECT_OK(kernel->launch({1}, {}));
  EXPECT_OK((*timer)->start());
  EXPECT_EQ(stand_in::alive().contexts, 1);
}

TEST_F(Cuda, KeepsTheHostsContexts) {
  stand_in::setGpus(2);
  const auto host = makeCuda(1); // Retains the host's context.
  stand_in::pushContext(1);
  {
    const auto device = makeCuda(0);
    const auto kernel = load(device, cudaArtifact("kernel"));
    EXPECT_EQ(stand_in::currentGpus(), std::vector<int>{1});
    EXPECT_OK(kernel->launch({1}, {}));
    EXPECT_EQ(stand_in::lastLaunch().gpu, 0);
    EXPECT_EQ(stand_in::currentGpus(), std::vector<int>{1});
    const Expected<Buffer> buffer = device->allocate(1);
    EXPECT_OK(device->synchronize());
    EXPECT_EQ(stand_in::currentGpus(), std::vector<int>{1});
  }
  EXPECT_EQ(stand_in::currentGpus(), std::vector<int>{1});
  stand_in::popContext();
}

TEST_F(Cuda, KeepsGpusApart) {
  stand_in::setGpus(2);
  const auto first = load(makeCuda(0), cudaArtifact("first"));
  const auto second = load(makeCuda(1), cudaArtifact("second"));
  EXPECT_OK(first->launch({1}, {}));
  EXPECT_EQ(stand_in::lastLaunch().gpu, 0);
  EXPECT_OK(second->launch({1}, {}));
  EXPECT_EQ(stand_in::lastLaunch().gpu, 1);
}

TEST_F(Cuda, IsForManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([] {
      const auto device = makeCuda();
      const auto kernel = load(device, cudaArtifact("kernel", {scalar("x", i32)}));
      for (int round = 0; round < 50; ++round) {
        const Expected<Buffer> buffer = device->allocate(64);
        EXPECT_TRUE(buffer.ok());
        EXPECT_OK(kernel->launch({1}, {round}));
        EXPECT_OK(device->synchronize());
      }
      EXPECT_EQ(stand_in::currentGpus(), std::vector<int>());
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
