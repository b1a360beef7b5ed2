// SPDX-License-Identifier: MIT
#include "fixture.h"
#include "tegula/kernel_cache.h"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

using namespace tegula;
using namespace tegula::test;

namespace {

/// A compiler that takes the program for the name of a kernel. A program that starts with '!' fails with the code after
/// it.
class FakeCompiler final : public Compiler {
public:
  Expected<Artifact> compile(const CompileRequest &request) override {
    ++compilations;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(request.target.name, "cpu");
    EXPECT_EQ(request.emit, "");
    if (request.program.rfind('!', 0) == 0)
      return Status(static_cast<ErrorCode>(std::stoi(request.program.substr(1))), "no");
    if (request.program == "throw")
      throw std::bad_alloc();
    return artifact(request.program, {});
  }

  std::atomic<int> compilations{0};
};

std::string failingWith(ErrorCode code) { return std::string("!").append(std::to_string(static_cast<int>(code))); }

class Cache : public testing::Test {
protected:
  FakeCompiler compiler;
  KernelCache cache{compiler, makeDevice(1)};
};

TEST_F(Cache, CompilesOncePerKey) {
  const auto first = cache.get("count");
  const auto again = cache.get("count");
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ(*first, *again);
  EXPECT_EQ(compiler.compilations, 1);
}

TEST_F(Cache, TellsProgramsAndSchedulesApart) {
  const auto plain = cache.get("count");
  const auto tiled = cache.get("count", {.block_m = 32});
  const auto other = cache.get("echo");
  ASSERT_TRUE(plain.ok() && tiled.ok() && other.ok());
  EXPECT_NE(*plain, *tiled);
  EXPECT_EQ((*other)->name(), "echo");
  EXPECT_EQ(compiler.compilations, 3);
}

TEST_F(Cache, CompilesOncePerKeyForManyThreads) {
  const char *programs[] = {"count", "echo", "halve"};
  std::vector<std::shared_ptr<Kernel>> kernels(24);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kernels.size(); ++i)
    threads.emplace_back([&, i] { kernels[i] = *cache.get(programs[i % 3]); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(compiler.compilations, 3);
  for (size_t i = 0; i < kernels.size(); ++i)
    EXPECT_EQ(kernels[i], kernels[i % 3]);
}

/// The end of errors about a kernel whose program has no function.
const std::string kWhere = "\ntarget cpu\nschedule of the compiler's choice";

TEST_F(Cache, KeepsRefusals) {
  const std::string program = failingWith(ErrorCode::compile_failed);
  EXPECT_ERROR(cache.get(program).status(), ErrorCode::compile_failed, "no" + kWhere);
  EXPECT_ERROR(cache.get(program).status(), ErrorCode::compile_failed, "no" + kWhere);
  EXPECT_EQ(compiler.compilations, 1);
}

TEST_F(Cache, TriesAgainAfterACrash) {
  const std::string program = failingWith(ErrorCode::compile_crashed);
  EXPECT_ERROR(cache.get(program).status(), ErrorCode::compile_crashed, "no" + kWhere);
  EXPECT_ERROR(cache.get(program).status(), ErrorCode::compile_crashed, "no" + kWhere);
  EXPECT_EQ(compiler.compilations, 2);
}

TEST_F(Cache, GivesAFailureToAllWhoWaitForIt) {
  const std::string program = failingWith(ErrorCode::compile_timeout);
  std::atomic<int> timeouts{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] { timeouts += cache.get(program).status().code() == ErrorCode::compile_timeout; });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(timeouts, 8);
}

TEST_F(Cache, PassesOnLoadErrors) {
  EXPECT_ERROR(cache.get("absent").status(), ErrorCode::invalid_argument,
               "kernel 'absent': the binary has no symbol 'absent'" + kWhere);
}

TEST_F(Cache, LetsNoExceptionOut) {
  EXPECT_ERROR(cache.get("throw").status(), ErrorCode::resource_exhausted, "out of memory");
  EXPECT_ERROR(cache.get("throw").status(), ErrorCode::resource_exhausted, "out of memory");
  EXPECT_EQ(compiler.compilations, 2);
}

TEST(CacheLifetime, KernelsOutliveTheCache) {
  FakeCompiler compiler;
  std::shared_ptr<Kernel> kernel;
  {
    KernelCache cache(compiler, makeDevice(1));
    kernel = *cache.get("nothing");
  }
  EXPECT_OK(kernel->launch({3}, {}));
}

} // namespace
