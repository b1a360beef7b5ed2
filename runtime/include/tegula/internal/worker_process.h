// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/frame.h"
#include "tegula/internal/descriptor.h"
#include "tegula/internal/fork.h"
#include "tegula/status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>

namespace tegula {

/// Returns the path of a program that comes with this library: next to the library or program that contains this code,
/// in ../bin or in ../../bin from there. If it is nowhere, returns the first of these paths.
std::string findOwnProgram(const std::string &name);

/// A running tegula-cc, or another program that answers each frame on its standard input with one. It is killed with
/// the object, except in a forked child.
class WorkerProcess {
public:
  /// Starts `program`, which messages call by its `role`. Returns unsupported if it cannot be started. Returns
  /// resource_exhausted if there is no descriptor or process left.
  static Expected<WorkerProcess> start(const std::string &program, int64_t memoryBytes,
                                       const std::string &role = "the compiler");

  WorkerProcess(WorkerProcess &&other) noexcept
      : socket_(std::move(other.socket_)), messages_(std::move(other.messages_)), pid_(std::exchange(other.pid_, 0)),
        fork_(other.fork_), role_(std::move(other.role_)) {}
  WorkerProcess &operator=(WorkerProcess &&) = delete;
  ~WorkerProcess();

  /// Returns true if the process still waits for requests.
  bool isListening() const;

  /// Sends a request and waits for the answer. After an error the process is gone. The errors are compile_timeout,
  /// cancelled if `stop` asked for it, resource_exhausted for lack of memory, and compile_crashed, with how it ended
  /// and what it printed.
  Expected<std::string> ask(const std::string &request, Deadline deadline, const StopRequest &stop = {});

private:
  WorkerProcess(Descriptor socket, Descriptor messages, pid_t pid, std::string role)
      : socket_(std::move(socket)), messages_(std::move(messages)), pid_(pid), role_(std::move(role)) {}

  /// Kills the process. Returns its wait status, unless other code has reaped it.
  std::optional<int> kill();
  std::string lastMessages() const;
  Status death(std::optional<int> waitStatus) const;

  Descriptor socket_;
  Descriptor messages_; ///< The output of the process to stderr.
  pid_t pid_;
  ForkGuard fork_;
  std::string role_;
};

} // namespace tegula
