// SPDX-License-Identifier: MIT
// Tests what a candidate that fails leaves to the next one: nothing.
#include "measurer.h"

#include "compiler/client/InProcessCompiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula::tuning {
namespace {

using ::testing::SizeIs;

/// A subject whose first two candidates fail on this side after one launch. That of the second one is a fault.
class FailingSubject final : public Subject {
public:
  FailingSubject() : Subject({.machine = {.target = {"cpu", "", ""}}}) {}

  Expected<std::vector<Candidate>> candidates(int) const override { return std::vector<Candidate>(); }
  Expected<Candidate> candidateOf(const Configuration &) const override { return Candidate(); }
  Status prepare(KernelCache &, Compiler &, const TuningOptions &) override { return {}; }
  Expected<std::shared_ptr<Kernel>> makePlan(size_t, const Candidate &, KernelCache &) override {
    return std::shared_ptr<Kernel>();
  }
  Status prepareCheck(size_t, const std::shared_ptr<Device> &) override { return {}; }
  Expected<Verdict> check(size_t) override { return Verdict{}; }
  Status prepareLaunches(size_t, const std::shared_ptr<Device> &device) override {
    device_ = device;
    launches_ = 0;
    return {};
  }
  Status launch(size_t candidate) override {
    if (candidate == 2)
      return {};
    if (launches_++ > 0)
      return {ErrorCode::launch_failed, "the second launch"};
    auto *nowhere = reinterpret_cast<void *>(64);
    return candidate == 0 ? Status() : device_->copyToDevice(nowhere, &launches_, sizeof launches_);
  }
  void forgetTensors() override {}

  std::shared_ptr<Device> device_;

private:
  int launches_ = 0;
};

class MeasurerTest : public ::testing::Test {
protected:
  const std::unique_ptr<Compiler> compiler_ = makeInProcessCompiler();
  const TuningOptions options_ = [] {
    TuningOptions options;
    options.measurer = TEGULA_MEASURE;
    return options;
  }();
  FailingSubject subject_;
};

TEST_F(MeasurerTest, ACandidateThatFailsLeavesNothingToTheNextOne) {
  Measurer measurer(options_, subject_, *compiler_);
  for (const size_t failing : {0, 1}) {
    EXPECT_EQ(measurer.time(failing, 2).status().message(), "the second launch");
    const Expected<std::vector<double>> ms = measurer.time(2, 3);
    ASSERT_TRUE(ms.ok()) << ms.status().message();
    EXPECT_THAT(*ms, SizeIs(3));
  }
}

TEST_F(MeasurerTest, TheProcessEndsBeforeTheSubject) {
  {
    Measurer measurer(options_, subject_, *compiler_);
    ASSERT_TRUE(measurer.time(2, 1).ok());
    ASSERT_TRUE(subject_.device_->synchronize().ok());
  }
  EXPECT_EQ(subject_.device_->synchronize().message(), "the process that measures was ended");
}

} // namespace
} // namespace tegula::tuning
