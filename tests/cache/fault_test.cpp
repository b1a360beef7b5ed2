// SPDX-License-Identifier: MIT
// Goes from a request to a loaded kernel, with a fault at every call of a system function.
#include "cache/cache_fixture.h"
#include "cache/fault_injection.h"
#include "tegula/kernel_cache.h"
#include "tegula/worker_compiler.h"

#include <filesystem>
#include <set>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tegula;
using namespace tegula::test;
namespace fs = std::filesystem;

namespace {

/// A compiler that asks the stand-in worker, which returns programs, and puts machine code in their place.
class Compiling final : public Compiler {
public:
  explicit Compiling(const std::string &reproducers)
      : worker_(makeWorkerCompiler({.program = TEGULA_STAND_IN, .reproducers = reproducers})),
        kernels_(readFile(TEGULA_TEST_KERNELS)) {}

  Expected<Artifact> compile(const CompileRequest &request) override {
    Expected<Artifact> artifact = worker_->compile(request);
    if (artifact) {
      artifact->kernel = request.program;
      artifact->binary = kernels_;
    }
    return artifact;
  }
  std::string identity(const Target &) const override { return "a compiler with a name that needs memory"; }

private:
  std::unique_ptr<Compiler> worker_;
  std::string kernels_;
};

size_t openDescriptors() {
  const fs::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

/// Returns true if a call may return `code` after a fault.
bool isHonest(ErrorCode code) {
  return code == ErrorCode::ok || code == ErrorCode::resource_exhausted || code == ErrorCode::compile_crashed ||
         code == ErrorCode::invalid_argument || code == ErrorCode::internal;
}

/// Expects that every file in a folder is a complete entry.
::testing::AssertionResult isSound(const std::string &folder) {
  if (!fs::exists(folder))
    return ::testing::AssertionSuccess();
  const Expected<std::vector<CacheEntry>> entries = listCache(folder);
  if (!entries)
    return ::testing::AssertionFailure() << entries.status().message();
  for (const CacheEntry &entry : *entries)
    if (!entry.status.ok())
      return ::testing::AssertionFailure() << entry.key << ": " << entry.status.message();
  return ::testing::AssertionSuccess();
}

class Faults : public ::testing::Test {
protected:
  /// Runs `scenario` with a fault at call n = 1, 2, ... until there is no n-th call. Adds the functions that have
  /// failed.
  template <class Scenario> void atEveryCall(std::set<std::string> &functions, Scenario scenario) {
    for (int n = 1;; ++n) {
      const TemporaryFolder folder;
      const std::string failed = scenario(n, folder.path());
      if (failed.empty())
        return;
      functions.insert(failed);
      ASSERT_FALSE(HasFailure()) << "call " << n << ", " << failed;
      ASSERT_LT(n, 100'000);
    }
  }

  std::shared_ptr<Device> device = *cpuDevice({.threads = 1});
};

TEST_F(Faults, ACallSaysSoAndTheNextOneSucceeds) {
  std::set<std::string> functions;
  atEveryCall(functions, [&](int n, const std::string &folder) -> std::string {
    const size_t before = openDescriptors();
    std::string failed;
    {
      Compiling compiler(folder);
      KernelCache cache(
          compiler, device,
          {.artifacts = std::make_shared<ArtifactCache>(ArtifactCacheOptions{.directory = folder + "/c"})});
      ErrorCode code;
      {
        const InjectedFault fault(n, Fault::fail);
        code = cache.get("count").status().code();
        failed = fault.failed();
      }
      EXPECT_TRUE(isHonest(code)) << toString(code);
      EXPECT_TRUE(isSound(folder + "/c"));
      const Expected<std::shared_ptr<Kernel>> kernel = cache.get("count");
      EXPECT_TRUE(kernel.ok()) << kernel.status().message();
    }
    EXPECT_EQ(openDescriptors(), before);
    return failed;
  });
  for (const char *function : {"operator new", "open", "openat", "mkdir", "write", "fsync", "renameat", "flock",
                               "socketpair", "memfd_create", "posix_spawn", "send", "recv", "dlopen"})
    EXPECT_EQ(functions.count(function), 1u) << function;
}

TEST_F(Faults, AHitMayFailAndIsThenAMiss) {
  const TemporaryFolder shared;
  std::set<std::string> functions;
  atEveryCall(functions, [&](int n, const std::string &reproducers) -> std::string {
    Compiling compiler(reproducers);
    const ArtifactCacheOptions options{.directory = shared.path()};
    EXPECT_TRUE(ArtifactCache(options).get(compiler, request("count")).ok());
    ArtifactCache cache(options);
    const InjectedFault fault(n, Fault::fail);
    const ErrorCode code = cache.get(compiler, request("count")).status().code();
    EXPECT_TRUE(code == ErrorCode::ok || code == ErrorCode::resource_exhausted) << toString(code);
    return fault.failed();
  });
  EXPECT_EQ(functions.count("read"), 1u);
}

TEST_F(Faults, AWriterMayBeKilledAnywhere) {
  std::set<std::string> functions;
  int survivors = 0;
  for (int n = 1; survivors == 0; ++n) {
    const TemporaryFolder folder;
    CountingCompiler compiler;
    const pid_t child = fork();
    if (child == 0) {
      ArtifactCache cache({.directory = folder.path() + "/c"});
      const InjectedFault fault(n, Fault::die);
      _exit(cache.get(compiler, request("p")).ok() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    survivors += WIFEXITED(status);
    ASSERT_TRUE(isSound(folder.path() + "/c")) << "call " << n;
    ArtifactCache cache({.directory = folder.path() + "/c"});
    ASSERT_TRUE(cache.get(compiler, request("p")).ok());
    ASSERT_EQ(cache.counters().faults, 0) << "call " << n;
    ASSERT_TRUE(ArtifactCache({.directory = folder.path() + "/c"})
                    .get(compiler, request("p"), {}, CompilePolicy::load_only)
                    .ok());
  }
}

/// Runs `body` in a child whose files may have at most `bytes`. Returns true if the child ends by itself, and `body` is
/// true.
template <class Body> bool holdsWithFilesUpTo(rlim_t bytes, Body body) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(FileLimit, IsAnErrorOfEveryWriter) {
  for (const rlim_t bytes : {rlim_t(0), rlim_t(100), rlim_t(10'000)})
    EXPECT_TRUE(holdsWithFilesUpTo(bytes, [] {
      const TemporaryFolder folder;
      Compiling compiler(folder.path());
      KernelCache cache(
          compiler, *cpuDevice({.threads = 1}),
          {.artifacts = std::make_shared<ArtifactCache>(ArtifactCacheOptions{.directory = folder.path() + "/c"})});
      const Status status = cache.get("count").status(); // The kernel is larger than all limits.
      return status.code() == ErrorCode::resource_exhausted &&
             status.message().find("writing to a memory file failed: File too large") != std::string::npos &&
             isSound(folder.path() + "/c");
    })) << bytes;
}

TEST(FileLimit, LeavesNoPartOfAReproducer) {
  EXPECT_TRUE(holdsWithFilesUpTo(10, [] {
    const TemporaryFolder folder;
    const auto worker = makeWorkerCompiler({.program = TEGULA_STAND_IN, .reproducers = folder.path()});
    const Status status = worker->compile(request("abort")).status();
    return status.code() == ErrorCode::compile_crashed &&
           status.message().find("no reproducer could be written") != std::string::npos && fs::is_empty(folder.path());
  }));
}

} // namespace
