// SPDX-License-Identifier: MIT
// Tests of many processes and threads that share a folder.
#include "cache/cache_fixture.h"
#include "tegula/internal/folder.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tegula;
using namespace tegula::test;

namespace {

class Sharing : public CacheTest {
protected:
  /// Runs `body(process)` in `count` processes. Returns how many of them ended with 0.
  template <class Body> static int inProcesses(int count, Body body) {
    std::vector<pid_t> children;
    for (int process = 0; process < count; ++process) {
      children.push_back(fork());
      if (children.back() == 0)
        _exit(body(process) ? 0 : 1);
    }
    int good = 0;
    for (pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      good += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return good;
  }
};

TEST_F(Sharing, ALockHasOneHolder) {
  std::atomic<int> holders = 0, most = 0;
  std::vector<std::jthread> threads;
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&] {
      const std::optional<Folder> folder = Folder::make(this->folder.path());
      for (int turn = 0; turn < 50; ++turn) {
        const Folder::Lock lock = folder->lock("turn", std::chrono::seconds(60));
        EXPECT_TRUE(bool(lock));
        most = std::max<int>(most, ++holders);
        std::this_thread::yield();
        --holders;
      }
    });
  threads.clear();
  EXPECT_EQ(most, 1);
}

/// A compiler that notes each compilation in a file that all processes append to.
class NotingCompiler final : public Compiler {
public:
  explicit NotingCompiler(std::string file) : file_(std::move(file)) {}
  Expected<Artifact> compile(const CompileRequest &request) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    std::ofstream(file_, std::ios::app) << request.program + "\n";
    return artifactOf(request);
  }
  std::string identity(const Target &) const override { return "noting"; }

private:
  std::string file_;
};

TEST_F(Sharing, OneOfTheProcessesThatWantAKernelCompilesIt) {
  const TemporaryFolder notes;
  const int good = inProcesses(8, [&](int) {
    NotingCompiler compiler(notes.path() + "/notes");
    ArtifactCache cache(options());
    bool all = true;
    for (const char *program : {"a", "b", "c", "d"})
      all &= cache.get(compiler, request(program)).ok();
    return all;
  });
  EXPECT_EQ(good, 8);
  EXPECT_EQ(readFile(notes.path() + "/notes").size(), 8u) << "four lines";
}

TEST_F(Sharing, ProcessesFillAndEmptyOneFolder) {
  const int good = inProcesses(8, [&](int process) {
    CountingCompiler compiler;
    ArtifactCache cache({.directory = folder.path(), .limit_bytes = 20'000});
    bool all = true;
    for (int i = 0; i < 200; ++i) {
      const CompileRequest wanted = request("program " + std::to_string((i * 7 + process) % 50));
      const Expected<Artifact> artifact = cache.get(compiler, wanted);
      all &= artifact.ok() && artifact->binary == wanted.program;
      if (process == 0 && i % 50 == 49)
        all &= pruneCache(folder.path(), 0).ok();
    }
    return all && cache.counters().faults == 0;
  });
  EXPECT_EQ(good, 8);
  const Expected<std::vector<CacheEntry>> entries = listCache(folder.path());
  ASSERT_TRUE(entries.ok());
  for (const CacheEntry &entry : *entries)
    EXPECT_TRUE(entry.status.ok()) << entry.status.message();
}

TEST_F(Sharing, AProcessThatDiesWhileItCompilesHoldsNobodyUp) {
  const pid_t child = fork();
  if (child == 0) {
    struct Dying final : Compiler {
      Expected<Artifact> compile(const CompileRequest &) override { _exit(1); }
      std::string identity(const Target &) const override { return "compiler 1"; }
    } dying;
    (void)ArtifactCache(options()).get(dying, request("p"));
  }
  waitpid(child, nullptr, 0);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(compiles(request("p")));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

} // namespace
