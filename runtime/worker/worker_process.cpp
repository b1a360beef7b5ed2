// SPDX-License-Identifier: MIT
#include "tegula/internal/worker_process.h"

#include "tegula/worker_protocol.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

namespace tegula {
namespace {

std::string errorText(int error) { return std::generic_category().message(error); }

Status noResource(const char *what, int error) {
  return {ErrorCode::resource_exhausted, std::string("cannot make ") + what + " for a process: " + errorText(error)};
}

/// Moves a descriptor away from the standard descriptors, which a host may have closed and which a child replaces.
Descriptor awayFromStandard(Descriptor descriptor) {
  constexpr int first = 3;
  if (!descriptor.isOpen() || descriptor.number() >= first)
    return descriptor;
  return Descriptor(fcntl(descriptor.number(), F_DUPFD_CLOEXEC, first));
}

struct SocketPair {
  Descriptor ours, theirs;
};

Expected<SocketPair> makeSockets() {
  int numbers[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, numbers) != 0)
    return noResource("a socket", errno);
  SocketPair pair{awayFromStandard(Descriptor(numbers[0])), awayFromStandard(Descriptor(numbers[1]))};
  if (!pair.ours.isOpen() || !pair.theirs.isOpen())
    return noResource("a socket", errno);
  return pair;
}

/// The settings with which a worker is started. It has its own process group, so that the terminal's signals pass by it
/// and its assembler ends with it. It has default signal handlers. It has no descriptor except a socket and a file for
/// messages.
class SpawnPlan {
public:
  SpawnPlan(const SocketPair &sockets, const Descriptor &messages) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, sockets.theirs.number(), kWorkerSocket);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, messages.number(), STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t signals;
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan &) = delete;
  SpawnPlan &operator=(const SpawnPlan &) = delete;

  int spawn(pid_t &pid, std::string program, std::string memory) const {
    char *arguments[] = {program.data(), memory.data(), nullptr};
    return posix_spawn(&pid, program.c_str(), &actions_, &attributes_, arguments, environ);
  }

private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

bool isLackOfResources(int error) { return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE; }

std::string describe(std::optional<int> waitStatus) {
  if (!waitStatus)
    return "ended";
  if (!WIFSIGNALED(*waitStatus))
    return "ended with exit code " + std::to_string(WEXITSTATUS(*waitStatus));
  const int number = WTERMSIG(*waitStatus);
  const char *name = sigabbrev_np(number);
  return "was killed by signal " + std::to_string(number) + (name != nullptr ? std::string(" (SIG") + name + ")" : "");
}

} // namespace

Expected<WorkerProcess> WorkerProcess::start(const std::string &program, int64_t memoryBytes, const std::string &role) {
  Expected<SocketPair> sockets = makeSockets();
  if (!sockets)
    return sockets.status();
  Descriptor messages = awayFromStandard(Descriptor(memfd_create("tegula-cc", MFD_CLOEXEC)));
  if (!messages.isOpen())
    return noResource("a memory file", errno);
  pid_t pid = 0;
  const int error = SpawnPlan(*sockets, messages).spawn(pid, program, std::to_string(memoryBytes));
  if (error != 0 && isLackOfResources(error))
    return noResource("a process", error);
  if (error != 0)
    return Status(ErrorCode::unsupported, role + " '" + program + "' cannot be started: " + errorText(error));
  return WorkerProcess(std::move(sockets->ours), std::move(messages), pid, role);
}

WorkerProcess::~WorkerProcess() { kill(); }

bool WorkerProcess::isListening() const {
  pollfd entry{.fd = socket_.number(), .events = POLLIN | POLLRDHUP, .revents = 0};
  return poll(&entry, 1, 0) == 0;
}

Expected<std::string> WorkerProcess::ask(const std::string &request, Deadline deadline, const StopRequest &stop) {
  std::string answer;
  FrameEnd end = sendFrame(socket_.number(), request, deadline, stop);
  if (end == FrameEnd::complete)
    end = receiveFrame(socket_.number(), answer, deadline, stop);
  if (end == FrameEnd::complete)
    return answer;
  if (end == FrameEnd::closed)
    return death(kill());
  kill();
  if (end == FrameEnd::stopped)
    return Status(ErrorCode::cancelled, role_ + " was stopped");
  return Status(ErrorCode::compile_timeout, role_ + " took too long");
}

std::optional<int> WorkerProcess::kill() {
  const pid_t pid = std::exchange(pid_, 0);
  siginfo_t info;
  // A worker that has ended, but was not reaped, keeps its process id. A worker that the host has reaped may have lost
  // it.
  if (pid == 0 || fork_.inChild() || waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0)
    return {};
  ::kill(-pid, SIGKILL);
  int waitStatus = 0;
  while (waitpid(pid, &waitStatus, 0) < 0)
    if (errno != EINTR)
      return {};
  return waitStatus;
}

std::string WorkerProcess::lastMessages() const {
  constexpr off_t longest = 4096;
  const off_t size = lseek(messages_.number(), 0, SEEK_END);
  const off_t begin = size > longest ? size - longest : 0;
  std::string text(static_cast<size_t>(size < 0 ? 0 : size - begin), '\0');
  const ssize_t count = pread(messages_.number(), text.data(), text.size(), begin);
  text.resize(static_cast<size_t>(count < 0 ? 0 : count));
  return text;
}

Status WorkerProcess::death(std::optional<int> waitStatus) const {
  if (waitStatus && WIFEXITED(*waitStatus) && WEXITSTATUS(*waitStatus) == kWorkerOutOfMemory)
    return {ErrorCode::resource_exhausted, role_ + " needed too much memory"};
  const std::string messages = lastMessages();
  return {ErrorCode::compile_crashed,
          role_ + " " + describe(waitStatus) + (messages.empty() ? "" : ", having said\n" + messages)};
}

} // namespace tegula
