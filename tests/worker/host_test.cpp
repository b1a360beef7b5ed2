// SPDX-License-Identifier: MIT
// Tests that a host notices nothing of the worker.
#include "tegula/worker_compiler.h"
#include "worker/process_state.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tegula;
using tegula::test::ProcessState;

namespace {

CompileRequest request(const std::string &program) {
  return {.program = program, .schedule = {}, .target = {}, .emit = ""};
}

WorkerOptions standIn() { return {.program = TEGULA_STAND_IN, .reproducers = "/proc/nowhere"}; }

TEST(Host, StaysAsItIs) {
  const ProcessState before = ProcessState::now();
  {
    const auto compiler = makeWorkerCompiler(standIn());
    EXPECT_EQ(ProcessState::now(), before) << "nothing may happen before the first compilation";
    EXPECT_TRUE(compiler->compile(request("a")).ok());
    EXPECT_FALSE(compiler->compile(request("abort")).ok());
    EXPECT_FALSE(compiler->compile(request("refuse")).ok());
    EXPECT_EQ(ProcessState::now().handlers, before.handlers);
    EXPECT_EQ(ProcessState::now().threads, before.threads);
  }
  EXPECT_EQ(ProcessState::now(), before);
  EXPECT_TRUE(tegula::test::children().empty());
}

TEST(Host, SeesNoOutput) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(makeWorkerCompiler(standIn())->compile(request("abort")).ok());
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Host, MayHaveClosedItsStandardDescriptors) {
  const pid_t child = fork();
  if (child == 0) {
    for (int descriptor : {0, 1, 2})
      close(descriptor);
    const auto compiler = makeWorkerCompiler(standIn());
    const bool good = compiler->compile(request("a")).ok() &&
                      compiler->compile(request("abort")).status().message().find("cannot select") != std::string::npos;
    _exit(good ? 7 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(Host, MayReapItsChildrenItself) {
  const auto previous = signal(SIGCHLD, SIG_IGN); // The system reaps them at once.
  const auto compiler = makeWorkerCompiler(standIn());
  EXPECT_EQ(compiler->compile(request("abort")).status().code(), ErrorCode::compile_crashed);
  EXPECT_TRUE(compiler->compile(request("a")).ok());
  signal(SIGCHLD, previous);
}

TEST(Host, ItsBlockedAndIgnoredSignalsAreNotTheWorkers) {
  sigset_t all, previous;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &previous);
  const auto ignored = signal(SIGABRT, SIG_IGN);
  const Status status = makeWorkerCompiler(standIn())->compile(request("segfault")).status();
  signal(SIGABRT, ignored);
  sigprocmask(SIG_SETMASK, &previous, nullptr);
  EXPECT_EQ(status.code(), ErrorCode::compile_crashed) << status.message();
}

} // namespace
