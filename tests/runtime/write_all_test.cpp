// SPDX-License-Identifier: MIT
// Tests that a limit on the size of files is an error, and that the host's signals stay as they are.
#include "tegula/internal/descriptor.h"
#include "tegula/internal/write_all.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tegula;

namespace {

constexpr rlim_t kLimit = 100;

/// Runs `body` in a child whose files may have kLimit bytes. Returns true if the child ends by itself, and `body` is
/// true.
template <class Body> bool holdsUnderLimit(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{.rlim_cur = kLimit, .rlim_max = kLimit};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Descriptor memoryFile() { return Descriptor(memfd_create("test", MFD_CLOEXEC)); }

/// Returns true if a write of too many bytes fails with the system's error, after as many as the limit allows.
bool isRefused() {
  const Descriptor file = memoryFile();
  struct stat written;
  return writeAll(file.number(), std::string(2 * kLimit, 'x')) == EFBIG && fstat(file.number(), &written) == 0 &&
         written.st_size == kLimit;
}

bool isPending() {
  sigset_t signals;
  return sigpending(&signals) == 0 && sigismember(&signals, SIGXFSZ) == 1;
}

bool isBlocked() {
  sigset_t signals;
  return pthread_sigmask(SIG_BLOCK, nullptr, &signals) == 0 && sigismember(&signals, SIGXFSZ) == 1;
}

void block() {
  sigset_t signal;
  sigemptyset(&signal);
  sigaddset(&signal, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &signal, nullptr);
}

volatile sig_atomic_t handled = 0;

TEST(WriteAll, WritesAllBytes) {
  const Descriptor file = memoryFile();
  EXPECT_EQ(writeAll(file.number(), "some "), 0);
  EXPECT_EQ(writeAll(file.number(), "bytes"), 0);
  std::string bytes(20, '\0');
  bytes.resize(pread(file.number(), bytes.data(), bytes.size(), 0));
  EXPECT_EQ(bytes, "some bytes");
  EXPECT_EQ(writeAll(-1, "x"), EBADF);
}

TEST(WriteAll, ALimitEndsNoHost) {
  EXPECT_TRUE(holdsUnderLimit([] { return isRefused() && isRefused() && !isPending() && !isBlocked(); }));
}

TEST(WriteAll, ALimitCallsNoHandlerOfTheHost) {
  EXPECT_TRUE(holdsUnderLimit([] {
    signal(SIGXFSZ, [](int) { handled = handled + 1; });
    return isRefused() && handled == 0 && raise(SIGXFSZ) == 0 && handled == 1;
  }));
}

TEST(WriteAll, ASignalThatTheHostIgnoresOrBlocksStaysSo) {
  EXPECT_TRUE(holdsUnderLimit([] {
    signal(SIGXFSZ, SIG_IGN);
    return isRefused() && !isPending() && !isBlocked();
  }));
  EXPECT_TRUE(holdsUnderLimit([] {
    block();
    return isRefused() && !isPending() && isBlocked();
  }));
}

TEST(WriteAll, ASignalThatWasPendingStaysPending) {
  EXPECT_TRUE(holdsUnderLimit([] {
    block();
    raise(SIGXFSZ);
    return isRefused() && isPending() && isBlocked();
  }));
}

} // namespace
