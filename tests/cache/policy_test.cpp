// SPDX-License-Identifier: MIT
// Tests of a kernel cache under each policy.
#include "cache/cache_fixture.h"
#include "tegula/kernel_cache.h"

#include <gmock/gmock.h>
#include <thread>

using namespace tegula;
using namespace tegula::test;

namespace {

/// A compiler that takes the program for the name of a function of kernels.c.
class KernelCompiler final : public Compiler {
public:
  Expected<Artifact> compile(const CompileRequest &request) override {
    ++compilations;
    Artifact artifact;
    artifact.target = "cpu";
    artifact.kernel = request.program;
    artifact.binary = readFile(TEGULA_TEST_KERNELS);
    return artifact;
  }
  std::string identity(const Target &) const override { return "kernels.c"; }

  std::atomic<int> compilations{0};
};

class Policy : public CacheTest {
protected:
  KernelCacheOptions with(CompilePolicy policy) const {
    return {.artifacts = std::make_shared<ArtifactCache>(options()), .policy = policy};
  }

  KernelCompiler compiler;
  std::shared_ptr<Device> device = *cpuDevice({.threads = 1});
};

TEST_F(Policy, LoadOnlyTakesWhatIsKept) {
  KernelCache warm(compiler, device, with(CompilePolicy::compile));
  ASSERT_TRUE(warm.get("count").ok());
  KernelCache cache(compiler, device, with(CompilePolicy::load_only));
  EXPECT_TRUE(cache.get("count").ok());
  EXPECT_EQ(cache.get("echo").status().code(), ErrorCode::needs_compile);
  EXPECT_EQ(compiler.compilations, 1);
}

TEST_F(Policy, ForbidTakesWhatIsLoaded) {
  KernelCache cache(compiler, device, with(CompilePolicy::compile));
  ASSERT_TRUE(cache.get("count").ok());
  cache.setPolicy(CompilePolicy::loaded_only);
  EXPECT_TRUE(cache.get("count").ok());
  EXPECT_EQ(cache.get("echo").status().code(), ErrorCode::needs_compile);
  KernelCache fresh(compiler, device, with(CompilePolicy::loaded_only));
  EXPECT_EQ(fresh.get("count").status().code(), ErrorCode::needs_compile);
}

TEST_F(Policy, ACallMayHaveItsOwn) {
  KernelCache cache(compiler, device, with(CompilePolicy::loaded_only));
  EXPECT_TRUE(cache.get("count", {}, CompilePolicy::compile).ok());
  EXPECT_TRUE(cache.get("count").ok());
}

TEST_F(Policy, ARefusalSaysWhatIsMissing) {
  KernelCache cache(compiler, device, with(CompilePolicy::load_only));
  const Status status = cache.get("func.func @scale_rows(%x: f32)", {.block_m = 32}).status();
  EXPECT_THAT(
      status.message(),
      ::testing::MatchesRegex("a kernel is not at hand, and the policy does not allow compiling it; allow that, or "
                              "bring the kernel in a bundle \\(tegula compile --bundle\\)\nkey [0-9a-f]{32}\n"
                              "kernel scale_rows\ntarget cpu\nschedule block_m=32"));
}

TEST_F(Policy, LoadedOnlyAdvisesWhatHelps) {
  KernelCache cache(compiler, device, with(CompilePolicy::loaded_only));
  const Status status = cache.get("func.func @scale_rows(%x: f32)").status();
  EXPECT_THAT(status.message(),
              ::testing::MatchesRegex("a kernel is not loaded, and the policy is loaded_only \\(in C: "
                                      "TEGULA_LOADED_ONLY\\); load the kernel before this policy is set, or set the "
                                      "policy load_only or compile\nkey [0-9a-f]{32}\nkernel scale_rows\ntarget cpu\n"
                                      "schedule of the compiler's choice"));
}

TEST_F(Policy, AFailureSaysOfWhichKernel) {
  class Refuses final : public Compiler {
  public:
    Expected<Artifact> compile(const CompileRequest &) override {
      return Status(ErrorCode::compile_failed, "no registers are left");
    }
    std::string identity(const Target &) const override { return ""; }
  } refuses;
  KernelCache cache(refuses, device);
  for (int time = 0; time < 2; ++time) // The second refusal is a kept one.
    EXPECT_EQ(cache.get("func.func @scale_rows(%x: f32)", {.block_m = 32}).status().message(),
              "no registers are left\nkernel scale_rows\ntarget cpu\nschedule block_m=32");
  EXPECT_EQ(cache.get("func.func @scale_rows(%x: f32)").status().message(),
            "no registers are left\nkernel scale_rows\ntarget cpu\nschedule of the compiler's choice");
}

TEST_F(Policy, WithoutAnyCacheOfArtifactsToo) {
  KernelCache cache(compiler, device, {.policy = CompilePolicy::load_only});
  EXPECT_EQ(cache.get("count").status().code(), ErrorCode::needs_compile);
  EXPECT_TRUE(cache.get("count", {}, CompilePolicy::compile).ok());
}

TEST_F(Policy, WhoMayCompileIsNotHeldUpByWhoMayNot) {
  for (int round = 0; round < 50; ++round) {
    KernelCache cache(compiler, device, {.policy = CompilePolicy::load_only});
    std::thread other([&] { (void)cache.get("count"); });
    EXPECT_TRUE(cache.get("count", {}, CompilePolicy::compile).ok());
    other.join();
  }
}

/// Makes 10,000 look-ups. Run it with the thread sanitizer, too.
TEST_F(Policy, LookUpsFromManyThreads) {
  KernelCache cache(compiler, device, with(CompilePolicy::compile));
  const char *programs[] = {"count", "echo", "halve"};
  std::atomic<int> found{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 1250; ++i)
        found += cache.get(programs[i % 3]).ok();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(found, 10'000);
  EXPECT_EQ(compiler.compilations, 3);
}

} // namespace
