// SPDX-License-Identifier: MIT
// Tests of tegula-cc.
#include "tegula/attention.h"
#include "tegula/worker_compiler.h"
#include "worker/process_state.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tegula;
using namespace tegula::test;
using namespace std::chrono_literals;
using testing::HasSubstr;

namespace {

/// Returns a request that takes about 0.2 s to compile.
CompileRequest attention(const Target &target = {}) {
  const AttentionProblem problem{.dtype = bf16, .head_dim = 128, .value_dim = 128, .causal = Causal::top_left};
  const Expected<KernelConfig> resolved = resolve(problem, "flash2_backward", target);
  return {.program = recordFlash2Backward(resolved->config)->text,
          .schedule = resolved->schedule,
          .target = target,
          .emit = ""};
}

class TegulaCc : public testing::Test {
protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "tegula-cc-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    options.reproducers = name;
    options.program = TEGULA_CC;
  }
  void TearDown() override { std::filesystem::remove_all(options.reproducers); }

  WorkerOptions options;
};

TEST_F(TegulaCc, CompilesKernelsThatRun) {
  const auto compiler = makeWorkerCompiler(options);
  KernelCache cache(*compiler, *cpuDevice({.threads = 1}));
  const Expected<AttentionPlan> plan = AttentionPlan::make({.dtype = f32, .head_dim = 8, .value_dim = 8}, cache);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  std::vector<float> q(8, 1), k(8, 1), v = {1, 2, 3, 4, 5, 6, 7, 8}, o(8), lse(1);
  auto view = [](std::vector<float> &x) { return contiguous(x.data(), f32, {1, 1, 1, 8}); };
  ASSERT_TRUE(plan->forward({.q = view(q),
                             .k = view(k),
                             .v = view(v),
                             .o = view(o),
                             .lse = contiguous(lse.data(), f32, {1, 1, 1}),
                             .scale = 1})
                  .ok());
  EXPECT_EQ(o, v);
}

TEST_F(TegulaCc, IsFoundBesideTheProgram) {
  options.program.clear();
  const Expected<Artifact> artifact = makeWorkerCompiler(options)->compile(attention());
  EXPECT_TRUE(artifact.ok()) << artifact.status().message();
}

TEST_F(TegulaCc, RefusesWithTheCompilersWords) {
  const Status status =
      makeWorkerCompiler(options)->compile({.program = "nonsense", .schedule = {}, .target = {}, .emit = ""}).status();
  EXPECT_EQ(status.code(), ErrorCode::compile_failed);
  EXPECT_THAT(status.message(), HasSubstr("error: "));
}

TEST_F(TegulaCc, KeepsItsLimitOfMemory) {
  options.memory_bytes = 0;
  Status status;
  // Each limit ends compilation at another point. The smallest limits do not let the process start.
  for (options.memory_bytes = 16 << 20; options.memory_bytes < int64_t{4} << 30; options.memory_bytes *= 1.5) {
    const Expected<Artifact> artifact = makeWorkerCompiler(options)->compile(attention());
    if (artifact.ok())
      break;
    EXPECT_EQ(artifact.status().code(), ErrorCode::resource_exhausted)
        << options.memory_bytes << ": " << artifact.status().message();
    status = artifact.status();
  }
  EXPECT_THAT(status.message(), HasSubstr("needed too much memory"));
}

TEST_F(TegulaCc, ALimitOnFileSizesIsAnErrorWithAMessage) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{.rlim_cur = 4096, .rlim_max = 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    const Status status = makeWorkerCompiler(options)->compile(attention()).status();
    const bool isTold = status.code() == ErrorCode::compile_failed || status.code() == ErrorCode::resource_exhausted;
    if (!isTold || status.message().find("File too large") == std::string::npos)
      std::fprintf(stderr, "%s\n", status.message().c_str());
    _exit(isTold && status.message().find("File too large") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(TegulaCc, KeepsItsLimitOfTime) {
  options.time_limit = 1ms;
  const Status status = makeWorkerCompiler(options)->compile(attention()).status();
  EXPECT_EQ(status.code(), ErrorCode::compile_timeout) << status.message();
}

TEST_F(TegulaCc, AnyTimeIsGoodToBeKilled) {
  options.time_limit = 20s;
  const auto compiler = makeWorkerCompiler(options);
  const CompileRequest request = attention();
  int killed = 0;
  for (int i = 0; i < 12; ++i) {
    Expected<Artifact> artifact = Status(ErrorCode::internal, "");
    std::thread host([&] { artifact = compiler->compile(request); });
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + 7 * i));
    for (int worker : children())
      kill(worker, i % 2 ? SIGSEGV : SIGKILL);
    host.join();
    killed += artifact.status().code() == ErrorCode::compile_crashed;
    EXPECT_TRUE(artifact.ok() || artifact.status().code() == ErrorCode::compile_crashed) << artifact.status().message();
  }
  EXPECT_GT(killed, 0);
  EXPECT_TRUE(compiler->compile(request).ok());
}

/// A ptxas that does not end while this object lives.
class HangingAssembler {
public:
  explicit HangingAssembler(const std::string &folder) {
    const std::string path = folder + "/ptxas";
    std::ofstream(path) << "#!/bin/sh\nsleep 100\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    setenv("TEGULA_PTXAS", path.c_str(), 1);
  }
  ~HangingAssembler() { unsetenv("TEGULA_PTXAS"); }

  /// Returns the process that a worker of this process has started for ptxas; -1 if there is none within half a minute.
  static int pid() {
    for (const auto end = std::chrono::steady_clock::now() + 30s; std::chrono::steady_clock::now() < end;) {
      for (int worker : children())
        for (int assembler : children(worker))
          return assembler;
      std::this_thread::sleep_for(1ms);
    }
    return -1;
  }
};

CompileRequest forGpu() { return attention({.name = "cuda", .arch = "sm_80", .features = ""}); }

TEST_F(TegulaCc, ATimeoutEndsTheAssemblerToo) {
  const HangingAssembler assembler(options.reproducers);
  options.time_limit = 5s; // ptxas must have started by then.
  std::thread host(
      [&] { EXPECT_EQ(makeWorkerCompiler(options)->compile(forGpu()).status().code(), ErrorCode::compile_timeout); });
  const int pid = HangingAssembler::pid();
  host.join();
  ASSERT_NE(pid, -1);
  EXPECT_TRUE(ends(pid));
}

TEST_F(TegulaCc, WorkersAndTheirAssemblersEndWithTheHost) {
  const HangingAssembler assembler(options.reproducers);
  int numbers[2];
  ASSERT_EQ(pipe(numbers), 0);
  const pid_t host = fork();
  if (host == 0) {
    std::thread([&] { (void)makeWorkerCompiler(options)->compile(forGpu()); }).detach();
    const int pids[] = {HangingAssembler::pid(), children().at(0)};
    (void)!write(numbers[1], pids, sizeof pids);
    pause();
  }
  int pids[2];
  ASSERT_EQ(read(numbers[0], pids, sizeof pids), static_cast<ssize_t>(sizeof pids));
  kill(host, SIGKILL);
  waitpid(host, nullptr, 0);
  EXPECT_TRUE(ends(pids[0]));
  EXPECT_TRUE(ends(pids[1]));
  close(numbers[0]);
  close(numbers[1]);
}

TEST_F(TegulaCc, ItsReproducerIsReplayed) {
  options.time_limit = 1ms;
  const Status status = makeWorkerCompiler(options)->compile(attention()).status();
  const size_t at = status.message().find("--replay ");
  ASSERT_NE(at, std::string::npos) << status.message();
  EXPECT_EQ(std::system((TEGULA_OPT " " + status.message().substr(at) + " 2>/dev/null").c_str()), 0);
}

TEST_F(TegulaCc, NamesItsBuild) {
  const auto compiler = makeWorkerCompiler(options);
  EXPECT_THAT(compiler->identity({}), testing::MatchesRegex("compiler [0-9a-f]{16,}, processor .+"));
  EXPECT_THAT(compiler->identity({.name = "cuda", .arch = "", .features = ""}),
              testing::MatchesRegex("compiler [0-9a-f]{16,}, assembler .+"));
  EXPECT_EQ(children().size(), 0u) << "without being started";
}

TEST_F(TegulaCc, IsNotForUsers) { EXPECT_NE(std::system(TEGULA_CC " 2>/dev/null"), 0); }

} // namespace
