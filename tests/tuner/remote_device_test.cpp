// SPDX-License-Identifier: MIT
// Tests a device in another process: that of tegula-measure, with the cores of this machine.
#include "remote_device.h"

#include "compiler/client/InProcessCompiler.h"
#include "tegula/dsl.h"
#include "tegula/kernel_cache.h"
#include "tegula/serialize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace tegula::tuning {
namespace {

using ::testing::HasSubstr;

void addOne(View x, View y) { y.store({0}, x.load({0}, {16}) + 1.0); }

class RemoteDeviceTest : public ::testing::Test {
protected:
  void SetUp() override {
    process_->allow(std::chrono::seconds(60));
    ASSERT_TRUE(process_->restart().ok());
  }

  /// Returns 16 numbers that the kernel makes of 0, 1, 2, ...
  Expected<std::vector<float>> run(const Kernel &kernel) {
    std::vector<float> numbers(16);
    std::iota(numbers.begin(), numbers.end(), 0.f);
    const int64_t bytes = int64_t(numbers.size() * sizeof(float));
    Expected<Buffer> x = device_->allocate(bytes), y = device_->allocate(bytes);
    if (!x || !y)
      return x ? y.status() : x.status();
    TEGULA_RETURN_IF_ERROR(device_->copyToDevice(x->data(), numbers.data(), bytes));
    TEGULA_RETURN_IF_ERROR(kernel.launch({}, {contiguous(x->data(), f32, {16}), contiguous(y->data(), f32, {16})}));
    TEGULA_RETURN_IF_ERROR(device_->copyToHost(numbers.data(), y->data(), bytes));
    return numbers;
  }

  const std::shared_ptr<RemoteProcess> process_ = std::make_shared<RemoteProcess>(TEGULA_MEASURE, "cpu", StopRequest());
  const std::shared_ptr<Device> device_ = makeRemoteDevice(process_, {.name = "cpu", .arch = "", .features = ""});
  const std::unique_ptr<Compiler> compiler_ = makeInProcessCompiler();
  const std::string program_ = record("add_one", addOne, TensorArg{"x", f32, 1}, TensorArg{"y", f32, 1})->text;
};

TEST(RemoteProcessTest, WithoutItsDeviceThereIsNoProcess) {
  RemoteProcess process(TEGULA_MEASURE, "abacus", StopRequest());
  process.allow(std::chrono::seconds(60));
  const Status status = process.restart();
  EXPECT_THAT(status.message(), HasSubstr("abacus"));
  EXPECT_FALSE(process.isRunning());
  EXPECT_EQ(process.exchange(encoded(Verb::memory)).status().message(), status.message());
}

TEST_F(RemoteDeviceTest, RunsKernelsAndTimesThem) {
  KernelCache cache(*compiler_, device_);
  const Expected<std::shared_ptr<Kernel>> kernel = cache.get(program_);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  EXPECT_GE((*kernel)->concurrency(), 1);
  EXPECT_EQ(artifactOf(**kernel).kernel, "add_one");
  for (const uint64_t times : {2, 1}) {
    process_->post(encoded(Verb::timers, 0, bytesOf(times)));
    for (uint64_t n = 0; n < times; ++n) {
      process_->post(encoded(Verb::start));
      const Expected<std::vector<float>> numbers = run(**kernel);
      process_->post(encoded(Verb::stop));
      ASSERT_TRUE(numbers.ok()) << numbers.status().message();
      EXPECT_EQ(numbers->front(), 1);
      EXPECT_EQ(numbers->back(), 16);
    }
    EXPECT_EQ(process_->exchange(encoded(Verb::read))->size(), sizeof(double) * times);
  }
}

TEST_F(RemoteDeviceTest, KernelsOutliveTheProcess) {
  KernelCache cache(*compiler_, device_);
  const Expected<std::shared_ptr<Kernel>> kernel = cache.get(program_);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  ASSERT_TRUE(run(**kernel).ok());
  constexpr uint64_t nowhere = 64;
  const Status crash = process_->exchange(encoded(Verb::copy_out, nowhere, bytesOf(uint64_t(4)))).status();
  EXPECT_THAT(crash.message(), HasSubstr("the process that measures was killed by signal"));
  EXPECT_EQ(run(**kernel).status().message(), crash.message());
  ASSERT_TRUE(process_->restart().ok());
  const Expected<std::vector<float>> numbers = run(**kernel);
  ASSERT_TRUE(numbers.ok()) << numbers.status().message();
  EXPECT_EQ(numbers->back(), 16);
}

TEST_F(RemoteDeviceTest, CopiesLargeTensorsThatRepeatTheirNumbers) {
  constexpr int32_t period = 1 << 20; // As many as a command copies.
  const int64_t count = 4 * period + period / 4;
  std::vector<int32_t> there(count), back(count, -1);
  for (int64_t n = 0; n < count; ++n)
    there[n] = int32_t(n % period);
  const Expected<Buffer> memory = device_->allocate(count * 4);
  ASSERT_TRUE(memory.ok());
  ASSERT_TRUE(device_->copyToDevice(memory->data(), there.data(), count * 4).ok());
  there[1] = 7;
  ASSERT_TRUE(device_->copyToDevice(static_cast<int32_t *>(memory->data()) + 1, &there[1], 4).ok());
  ASSERT_TRUE(device_->copyToHost(back.data(), memory->data(), count * 4).ok());
  EXPECT_TRUE(back == there);
}

TEST_F(RemoteDeviceTest, WhatTheProcessHasIsNotSentAgain) {
  const std::string numbers = "0123456789", first = numbers.substr(0, 4);
  const Expected<Buffer> memory = device_->allocate(14);
  ASSERT_TRUE(memory.ok());
  auto *begin = static_cast<char *>(memory->data());
  const size_t sent = process_->copyIn(begin, numbers);
  EXPECT_EQ(process_->copyIn(begin + 10, first) - sent, encoded(Verb::copy_again, 0, bytesOf(first.size())).size());
  EXPECT_EQ(*process_->exchange(encoded(Verb::copy_out, uint64_t(begin), bytesOf(uint64_t(14)))), numbers + first);
}

TEST_F(RemoteDeviceTest, TheNextWaitReturnsTheErrorOfALaunch) {
  Artifact cut = *compiler_->compile({.program = program_, .target = device_->target()});
  cut.binary.resize(cut.binary.size() / 2);
  const Expected<std::shared_ptr<Kernel>> kernel = device_->load(cut);
  ASSERT_TRUE(kernel.ok());
  const Status status = run(**kernel).status();
  EXPECT_EQ(status.code(), ErrorCode::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr("add_one"));
  EXPECT_TRUE(device_->synchronize().ok()) << "it is reported once";
  EXPECT_EQ((*kernel)->concurrency(), 1);
  EXPECT_EQ(run(**kernel).status().message(), status.message()) << "concurrency() could not return it";
}

TEST_F(RemoteDeviceTest, TheProcessSurvivesCommandsThatCannotBeExecuted) {
  for (const Verb verb : {Verb::start, Verb::stop})
    EXPECT_EQ(process_->exchange(encoded(verb)).status().message(), "there is no timer left");
  const uint64_t broken = process_->newKernel(), unknown = process_->newKernel();
  EXPECT_TRUE(process_->exchange(encoded(Verb::load, broken, "no artifact")).ok())
      << "another kernel may be asked about";
  const Status status = process_->exchange(encoded(Verb::launch, broken)).status();
  EXPECT_EQ(status.code(), parseArtifact("no artifact").status().code());
  EXPECT_EQ(status.message(), parseArtifact("no artifact").status().message());
  EXPECT_EQ(process_->exchange(encoded(Verb::launch, unknown)).status().code(), ErrorCode::internal);
  EXPECT_TRUE(device_->synchronize().ok());
}

TEST_F(RemoteDeviceTest, MemoryThatWasReleasedCanBeAllocated) {
  const auto process = std::make_shared<RemoteProcess>(TEGULA_MEASURE_STAND_IN, "cpu", StopRequest());
  const std::shared_ptr<Device> device = makeRemoteDevice(process, device_->target());
  process->allow(std::chrono::seconds(60));
  ASSERT_TRUE(process->restart().ok());
  const int64_t all = device->memory()->available_bytes;
  Expected<Buffer> memory = device->allocate(all);
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  EXPECT_EQ(device->allocate(64).status().code(), ErrorCode::resource_exhausted);
  *memory = Buffer();
  memory = device->allocate(all);
  EXPECT_TRUE(memory.ok()) << memory.status().message();
  *memory = Buffer();
  EXPECT_EQ(device->memory()->available_bytes, all);
}

TEST_F(RemoteDeviceTest, AProcessThatWasEndedIsGone) {
  const Expected<Buffer> memory = device_->allocate(64);
  ASSERT_TRUE(memory.ok());
  process_->end();
  EXPECT_FALSE(process_->isRunning());
  EXPECT_EQ(device_->allocate(64).status().message(), "the process that measures was ended");
  EXPECT_EQ(device_->synchronize().message(), "the process that measures was ended");
}

TEST_F(RemoteDeviceTest, AProcessThatDoesNotAnswerInTimeIsGone) {
  const std::vector<char> bytes(4'000'000);
  const Expected<Buffer> memory = device_->allocate(int64_t(bytes.size()));
  ASSERT_TRUE(memory.ok());
  for (int n = 0; n < 1000; ++n)
    ASSERT_TRUE(device_->copyToDevice(memory->data(), bytes.data(), memory->bytes()).ok());
  process_->allow(std::chrono::milliseconds(1));
  const Status status = device_->synchronize();
  EXPECT_EQ(status.code(), ErrorCode::compile_timeout);
  EXPECT_EQ(status.message(), "took longer than 0.001 s");
  EXPECT_FALSE(process_->isRunning());
  EXPECT_EQ(device_->allocate(64).status().message(), status.message());
}

} // namespace
} // namespace tegula::tuning
