// SPDX-License-Identifier: MIT
// Tests the side that starts workers, with a worker that fails on command.
#include "tegula/serialize.h"
#include "tegula/worker_compiler.h"
#include "worker/process_state.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tegula;
using namespace std::chrono_literals;
using testing::HasSubstr;

namespace {

class WorkerTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "tegula-worker-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    options.reproducers = name;
    options.program = TEGULA_STAND_IN;
  }
  void TearDown() override { std::filesystem::remove_all(options.reproducers); }

  std::unique_ptr<Compiler> compiler() const { return makeWorkerCompiler(options); }

  static CompileRequest request(const std::string &program) {
    return {.program = program,
            .schedule = {.block_m = 32},
            .target = {.name = "cuda", .arch = "sm_90", .features = ""},
            .emit = ""};
  }

  /// Expects that `program` fails with `words`, and that the next program compiles.
  static void expectSurvived(Compiler &compiler, const std::string &program, ErrorCode code, const char *words) {
    const Status status = compiler.compile(request(program)).status();
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_THAT(status.message(), HasSubstr(words));
    EXPECT_TRUE(compiler.compile(request("next")).ok());
  }

  WorkerOptions options;
};

TEST_F(WorkerTest, GivesBackWhatTheWorkerMade) {
  const Expected<Artifact> artifact = compiler()->compile(request(std::string("a\0b\n", 4)));
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_EQ(artifact->binary, std::string("a\0b\n", 4));
  EXPECT_EQ(artifact->target, "cuda");
}

TEST_F(WorkerTest, OneWorkerServesManyRequests) {
  const auto one = compiler();
  EXPECT_EQ(one->compile(request("a"))->kernel, one->compile(request("b"))->kernel);
}

TEST_F(WorkerTest, LargeProgramsAndArtifactsPass) {
  options.program_bytes = 64 << 20;
  const std::string program(30'000'000, 'x');
  EXPECT_EQ(compiler()->compile(request(program))->binary, program);
}

TEST_F(WorkerTest, SurvivesAnAbort) {
  const auto one = compiler();
  expectSurvived(*one, "abort", ErrorCode::compile_crashed,
                 "the compiler was killed by signal 6 (SIGABRT), having said\nLLVM ERROR: cannot select\n");
}

TEST_F(WorkerTest, SurvivesASegmentationFault) {
  const auto one = compiler();
  expectSurvived(*one, "segfault", ErrorCode::compile_crashed, "killed by signal 11 (SIGSEGV)");
}

TEST_F(WorkerTest, SurvivesAnExit) {
  const auto one = compiler();
  expectSurvived(*one, "exit", ErrorCode::compile_crashed, "ended with exit code 3");
}

TEST_F(WorkerTest, SurvivesAHang) {
  options.time_limit = 200ms;
  const auto one = compiler();
  const auto begin = std::chrono::steady_clock::now();
  expectSurvived(*one, "hang", ErrorCode::compile_timeout, "the compiler took too long; the limit is 200 ms");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1200ms);
}

TEST_F(WorkerTest, AHostStopsACompilation) {
  std::atomic<bool> stop = false;
  options.stopped = [&] { return stop.load(); };
  options.workers = 1;
  const auto one = compiler();
  ASSERT_TRUE(one->compile(request("a")).ok());
  // The second of them waits for a worker.
  std::vector<std::future<Status>> running;
  for (int n = 0; n < 2; ++n)
    running.push_back(std::async(std::launch::async, [&] { return one->compile(request("hang")).status(); }));
  std::this_thread::sleep_for(100ms);
  const auto begin = std::chrono::steady_clock::now();
  stop = true;
  for (std::future<Status> &status : running) {
    const Status end = status.get();
    EXPECT_EQ(end.code(), ErrorCode::cancelled);
    EXPECT_EQ(end.message(), "the compilation was stopped") << "there is nothing to reproduce";
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1s);
  stop = false;
  EXPECT_TRUE(one->compile(request("b")).ok());
}

TEST_F(WorkerTest, ATimeLimitMayBeForEver) {
  options.time_limit = std::chrono::milliseconds::max();
  EXPECT_TRUE(compiler()->compile(request("a")).ok());
}

TEST_F(WorkerTest, SurvivesLackOfMemory) {
  options.memory_bytes = 64 << 20;
  const auto one = compiler();
  expectSurvived(*one, "memory", ErrorCode::resource_exhausted, "needed too much memory; the limit is 64 MiB");
}

TEST_F(WorkerTest, SurvivesAGarbledAnswer) {
  const auto one = compiler();
  expectSurvived(*one, "garbage", ErrorCode::internal, "not an artifact that this version of Tegula has written");
}

TEST_F(WorkerTest, SurvivesThatAnIdleWorkerIsKilled) {
  const auto one = compiler();
  ASSERT_TRUE(one->compile(request("a")).ok());
  const int worker = tegula::test::children().at(0);
  ASSERT_EQ(kill(worker, SIGKILL), 0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(worker), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(one->compile(request("b")).ok());
}

TEST_F(WorkerTest, AWorkerThatRefusedIsNotUsedAgain) {
  const auto one = compiler();
  const std::string before = one->compile(request("a"))->kernel;
  EXPECT_EQ(one->compile(request("refuse")).status().message(), "k.cpp:1: error: no");
  EXPECT_NE(one->compile(request("a"))->kernel, before);
}

TEST_F(WorkerTest, RefusesAProgramThatIsTooLong) {
  options.program_bytes = 10;
  const Status status = compiler()->compile(request("eleven char")).status();
  EXPECT_EQ(status.code(), ErrorCode::resource_exhausted);
  EXPECT_EQ(status.message(), "the program has 11 bytes; the limit is 10");
}

TEST_F(WorkerTest, SaysThatThereIsNoCompiler) {
  options.program = "/nowhere/tegula-cc";
  const Status status = compiler()->compile(request("a")).status();
  EXPECT_EQ(status.code(), ErrorCode::unsupported);
  EXPECT_EQ(status.message(), "the compiler '/nowhere/tegula-cc' cannot be started: No such file or directory");
}

TEST_F(WorkerTest, TheReproducerIsTheRequest) {
  const Status status = compiler()->compile(request("abort")).status();
  const size_t at = status.message().find("tegula-opt --replay ");
  ASSERT_NE(at, std::string::npos) << status.message();
  std::ifstream file(status.message().substr(at + sizeof "tegula-opt --replay " - 1));
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const Expected<CompileRequest> replayed = parseCompileRequest(bytes);
  ASSERT_TRUE(replayed.ok()) << replayed.status().message();
  EXPECT_EQ(replayed->program, "abort");
  EXPECT_EQ(replayed->schedule, request("").schedule);
  EXPECT_EQ(replayed->target.arch, "sm_90");
}

TEST_F(WorkerTest, SaysSoIfNoReproducerCanBeWritten) {
  options.reproducers = "/proc/nowhere";
  EXPECT_THAT(compiler()->compile(request("abort")).status().message(), HasSubstr("no reproducer could be written"));
  options.reproducers = "";
}

TEST_F(WorkerTest, UsesNoMoreWorkersThanAllowed) {
  const auto one = compiler();
  std::vector<std::string> kernels(32);
  std::vector<std::thread> threads;
  for (std::string &kernel : kernels)
    threads.emplace_back([&] { kernel = one->compile(request("a"))->kernel; });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_LE(std::set<std::string>(kernels.begin(), kernels.end()).size(), 2u);
}

TEST_F(WorkerTest, CrashesOfManyThreadsAreEachTheirOwn) {
  const auto one = compiler();
  std::atomic<int> good{0}, crashed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&, i] {
      const Expected<Artifact> result = one->compile(request(i % 2 ? "segfault" : "a"));
      good += result.ok();
      crashed += result.status().code() == ErrorCode::compile_crashed;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(good, 8);
  EXPECT_EQ(crashed, 8);
}

TEST_F(WorkerTest, AWorkerInheritsNoDescriptor) {
  const int leaked = dup(0); // A host's descriptor without CLOEXEC.
  const Status status = compiler()->compile(request("descriptors")).status();
  close(leaked);
  EXPECT_THAT(status.message(), HasSubstr("ended with exit code 3")); // The worker has only 0, 1 and 2.
}

TEST_F(WorkerTest, WorkersEndWithTheirCompiler) {
  {
    const auto one = compiler();
    ASSERT_TRUE(one->compile(request("a")).ok());
    EXPECT_EQ(tegula::test::children().size(), 1u);
  }
  EXPECT_EQ(tegula::test::children().size(), 0u);
}

TEST_F(WorkerTest, AForkedChildIsRefusedAndEndsNoWorker) {
  auto one = compiler();
  const std::string before = one->compile(request("a"))->kernel;
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = one->compile(request("a")).status().code() == ErrorCode::forked_child;
    one.reset();
    _exit(refused ? 7 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(one->compile(request("a"))->kernel, before);
}

} // namespace
