// SPDX-License-Identifier: MIT
// A device in another process.
#pragma once

#include "commands.h"
#include "tegula/device.h"
#include "tegula/internal/worker_process.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace tegula::tuning {

/// A process that has a device, and the commands on their way to it. They are queued, and sent with the next one that
/// waits for an answer. Launches and timers are therefore enqueued on the device without a journey in between. If the
/// process dies, does not answer in time, or loses its device, there is no process until restart(): commands are
/// dropped, and those that wait return the error. Only load(), loadAhead() and newKernel() may be called by several
/// threads.
class RemoteProcess {
public:
  /// restart() will run `program`, and open the device of `target`. `stopped` ends a wait, and the process with it.
  RemoteProcess(std::string program, std::string target, StopRequest stopped)
      : program_(std::move(program)), target_(std::move(target)), stopped_(std::move(stopped)) {}

  /// Starts a process. The buffers of the last one must be gone, as its memory is. After an error there is no process.
  Status restart();
  /// Ends the process, and with it what its device holds.
  void end();
  bool isRunning() const;
  /// Sets how long the process may take from now on, for all commands together. The error then is compile_timeout.
  void allow(std::chrono::milliseconds patience);

  /// Queues commands. Returns the bytes in the queue.
  size_t post(const std::string &commands);
  /// Queues a copy to the device, in the same way.
  size_t copyIn(void *address, std::string_view bytes);
  /// Sends the queue and these commands, and returns what the last one gives.
  Expected<std::string> exchange(const std::string &commands = {});
  /// The same, but before the queue, which stays.
  Expected<std::string> ask(const std::string &commands);

  uint64_t newKernel() { return kernels_++; }
  /// Lets the process begin to load a kernel, unless it has. That comes before the queue.
  void load(uint64_t kernel, const Artifact &artifact);
  /// The same for a kernel that is not needed yet, until stopLoadingAhead().
  void loadAhead(uint64_t kernel, const Artifact &artifact);
  void stopLoadingAhead();
  /// Returns true if kernels were loaded that were not needed yet.
  bool hasLoadedAhead() const;

private:
  Expected<std::string> send(const std::string &frame);
  Status lose(const Status &error);
  void begin(uint64_t kernel, const Artifact &artifact);

  const std::string program_, target_;
  const StopRequest stopped_;
  std::chrono::milliseconds patience_{0};
  Deadline deadline_ = kNoDeadline;
  Status lost_ = {ErrorCode::internal, "no process was started"}; ///< Why there is no process.
  std::string copied_;                                            ///< The operand of the last copy_in.
  std::atomic<uint64_t> kernels_ = 0;

  mutable std::mutex mutex_; ///< Guards what follows.
  std::optional<WorkerProcess> process_;
  std::string queue_, loads_; ///< The commands `load` are apart.
  std::set<uint64_t> loaded_; ///< Kernels that the process has.
  std::set<uint64_t> needed_; ///< The part of loaded_ that was needed.
  bool loads_ahead_ = true;
};

/// Returns the device of a process, also of those that replace it: kernels go on, but memory is gone. Calls that do not
/// wait return Ok, and the next one that waits returns their error. Addresses are those of the other process. It has no
/// timers: the commands `start`, `stop` and `read` do their work. Only Device::load may be called by several threads.
std::shared_ptr<Device> makeRemoteDevice(std::shared_ptr<RemoteProcess> process, const Target &target);

/// Returns the artifact of a kernel that such a device has loaded.
const Artifact &artifactOf(const Kernel &kernel);

} // namespace tegula::tuning
