// SPDX-License-Identifier: MIT
// Tests a device in another process: that of tegula-measure, with the cores of this machine.
#include "remote_device.h"

#include "compiler/client/InProcessCompiler.h"
#include "tegula/dsl.h"
#include "tegula/kernel_cache.h"

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
    process_->post(encoded(Verb::start));
    TEGULA_RETURN_IF_ERROR(kernel.launch({}, {contiguous(x->data(), f32, {16}), contiguous(y->data(), f32, {16})}));
    process_->post(encoded(Verb::stop));
    TEGULA_RETURN_IF_ERROR(device_->copyToHost(numbers.data(), y->data(), bytes));
    return numbers;
  }

  const std::shared_ptr<RemoteProcess> process_ = std::make_shared<RemoteProcess>(TEGULA_MEASURE, "cpu", StopRequest());
  const std::shared_ptr<Device> device_ = makeRemoteDevice(process_, {.name = "cpu", .arch = "", .features = ""});
  const std::unique_ptr<Compiler> compiler_ = makeInProcessCompiler();
  const std::string program_ = record("add_one", addOne, TensorArg{"x", f32, 1}, TensorArg{"y", f32, 1})->text;
};

TEST_F(RemoteDeviceTest, RunsKernelsAndTimesThem) {
  KernelCache cache(*compiler_, device_);
  const Expected<std::shared_ptr<Kernel>> kernel = cache.get(program_);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  EXPECT_GE((*kernel)->concurrency(), 1);
  EXPECT_EQ(artifactOf(**kernel).kernel, "add_one");
  for (int times : {1, 2}) {
    const Expected<std::vector<float>> numbers = run(**kernel);
    ASSERT_TRUE(numbers.ok()) << numbers.status().message();
    EXPECT_EQ(numbers->front(), 1);
    EXPECT_EQ(numbers->back(), 16);
    if (times == 1)
      (void)run(**kernel);
    EXPECT_EQ(process_->exchange(encoded(Verb::read))->size(), sizeof(double) * (times == 1 ? 2 : 1));
  }
}

TEST_F(RemoteDeviceTest, KernelsOutliveTheProcess) {
  KernelCache cache(*compiler_, device_);
  const Expected<std::shared_ptr<Kernel>> kernel = cache.get(program_);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  ASSERT_TRUE(run(**kernel).ok());
  constexpr uint64_t unknown = 999;
  const Status crash = process_->exchange(encoded(Verb::launch, unknown)).status();
  EXPECT_THAT(crash.message(), HasSubstr("the process that measures was killed by signal"));
  EXPECT_EQ(run(**kernel).status().message(), crash.message());
  ASSERT_TRUE(process_->restart().ok());
  const Expected<std::vector<float>> numbers = run(**kernel);
  ASSERT_TRUE(numbers.ok()) << numbers.status().message();
  EXPECT_EQ(numbers->back(), 16);
}

TEST_F(RemoteDeviceTest, CopiesLargeTensorsThatRepeatTheirNumbers) {
  const int64_t count = 18 << 20, half = count / 2;
  std::vector<int32_t> there(half), back(count, -1);
  std::iota(there.begin(), there.end(), 0);
  const Expected<Buffer> memory = device_->allocate(count * 4);
  ASSERT_TRUE(memory.ok());
  auto *begin = static_cast<int32_t *>(memory->data());
  ASSERT_TRUE(device_->copyToDevice(begin, there.data(), half * 4).ok());
  ASSERT_TRUE(device_->copyToDevice(begin + half, there.data(), half * 4).ok());
  const int32_t last = 7;
  ASSERT_TRUE(device_->copyToDevice(begin + 1, &last, sizeof last).ok());
  ASSERT_TRUE(device_->copyToHost(back.data(), begin, count * 4).ok());
  EXPECT_EQ(std::vector(back.begin() + half, back.end()), there);
  EXPECT_EQ(back[0], 0);
  EXPECT_EQ(back[1], 7);
  EXPECT_EQ(back[2], 2);
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
