// SPDX-License-Identifier: MIT
#include "fixture.h"
#include "tegula/kernel_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tegula;
using namespace tegula::test;

namespace {

/// Runs `body` in a forked child and returns the child's exit status. A child that hangs is killed after 20 seconds.
template <class Body> int inChild(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool refused(const Status &status) {
  return status.code() == ErrorCode::forked_child &&
         status.message().ends_with(
             "the process was forked after this object was made; make a new device in the child");
}

class NoCompiler final : public Compiler {
public:
  Expected<Artifact> compile(const CompileRequest &) override { return Status(ErrorCode::internal, "unexpected"); }
};

class Fork : public testing::Test {
protected:
  /// Lets all threads of the device work once. After they have met, none of them allocates memory, so that a child
  /// inherits no locked allocator. The allocators of sanitizers do not release their locks in a child.
  void SetUp() override {
    std::vector<int32_t> arrived(1);
    const auto rendezvous = load(device, artifact("rendezvous", {written("arrived", i32)}));
    ASSERT_TRUE(isOk(rendezvous->launch({4}, {view(arrived)})));
  }

  std::vector<int32_t> counts = std::vector<int32_t>(1000);
  std::shared_ptr<Device> device = makeDevice(4);
  std::shared_ptr<Kernel> count = load(device, artifact("count", {written("counts", i32)}));
};

TEST_F(Fork, ParentsObjectsAreRefusedInTheChild) {
  NoCompiler compiler;
  KernelCache cache(compiler, device);
  EXPECT_EQ(inChild([&] {
              int value = 0;
              const bool all = refused(count->launch({1000}, {view(counts)})) &&
                               refused(device->allocate(1).status()) &&
                               refused(device->copyToHost(&value, &value, 4)) && refused(device->synchronize()) &&
                               refused(device->load(artifact("count", {})).status()) &&
                               refused(device->memory().status()) && refused(cache.get("").status());
              return all ? 7 : 1;
            }),
            7);
}

TEST_F(Fork, ParentsObjectsCanBeDestroyedInTheChild) {
  EXPECT_EQ(inChild([&] {
              count.reset();
              device.reset();
              return 7;
            }),
            7);
}

TEST_F(Fork, AChildMayMakeItsOwnDevice) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer ends a forked child that makes threads";
#endif
  EXPECT_EQ(inChild([&] {
              const auto own = load(makeDevice(2), artifact("count", {written("counts", i32)}));
              return own->launch({1000}, {view(counts)}).ok() && counts == std::vector<int32_t>(1000, 1) ? 7 : 1;
            }),
            7);
}

TEST_F(Fork, TheParentGoesOn) {
  EXPECT_EQ(inChild([] { return 7; }), 7);
  EXPECT_OK(count->launch({1000}, {view(counts)}));
  EXPECT_EQ(counts, std::vector<int32_t>(1000, 1));
}

} // namespace
