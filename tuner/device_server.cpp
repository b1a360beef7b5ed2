// SPDX-License-Identifier: MIT
#include "device_server.h"

#include "commands.h"
#include "tegula/cpu_info.h"
#include "tegula/frame.h"
#include "tegula/guard.h"
#include "tegula/serialize.h"
#include "tegula/worker_protocol.h"

#include <csignal>
#include <future>
#include <map>
#include <semaphore>
#include <sys/prctl.h>
#include <utility>
#include <vector>

namespace tegula::tuning {
namespace {

using Result = Expected<std::string>;
using Loaded = Expected<std::shared_ptr<Kernel>>;

Result nothing(const Status &status) { return status.ok() ? Result("") : Result(status); }

template <class T> Result bytesOf(const Expected<T> &value) {
  return value ? Result(std::string(tuning::bytesOf(*value))) : Result(value.status());
}

class Server {
public:
  explicit Server(const OpenDevice &open) : open_(open) {}

  std::string answer(std::string_view frame) {
    Status error;
    Result last = Result("");
    while (!frame.empty()) {
      const auto command = valueOf<Command>(frame);
      frame.remove_prefix(sizeof command);
      last = guarded([&] { return execute(command, frame.substr(0, command.operand_bytes)); });
      frame.remove_prefix(command.operand_bytes);
      if (error.ok())
        error = last.status();
    }
    return char(error.code()) + (error.ok() ? *last : error.message());
  }

private:
  Result execute(const Command &command, std::string_view operand) {
    auto *address = reinterpret_cast<void *>(command.of);
    switch (command.verb) {
    case Verb::open:
      return nothing(open(operand));
    case Verb::allocate:
      return allocate(valueOf<int64_t>(operand));
    case Verb::release:
      buffers_.erase(address);
      return Result("");
    case Verb::copy_in:
      copied_ = operand;
      return nothing(copyIn(address, copied_.size()));
    case Verb::copy_again:
      return nothing(copyIn(address, valueOf<uint64_t>(operand)));
    case Verb::copy_out:
      return copyOut(address, valueOf<uint64_t>(operand));
    case Verb::load:
      load(command.of, operand);
      return Result("");
    case Verb::concurrency: {
      const Loaded &kernel = kernels_.at(command.of).get();
      return bytesOf(kernel ? Expected<int64_t>((*kernel)->concurrency()) : kernel.status());
    }
    case Verb::launch:
      return nothing(launch(kernels_.at(command.of).get(), operand));
    case Verb::timers:
      return nothing(makeTimers(valueOf<uint64_t>(operand)));
    case Verb::start:
      return nothing(running_ < timers_.size() ? timers_[running_]->start() : noTimer());
    case Verb::stop:
      return nothing(running_ < timers_.size() ? timers_[running_++]->stop() : noTimer());
    case Verb::read:
      return read();
    case Verb::synchronize:
      return nothing(device_->synchronize());
    case Verb::memory:
      return bytesOf(device_->memory());
    }
    return Result(Status(ErrorCode::internal, "there is no such command"));
  }

  Status open(std::string_view target) {
    Expected<std::shared_ptr<Device>> device = open_(target);
    if (device)
      device_ = std::move(*device);
    return device.status();
  }

  Result allocate(int64_t bytes) {
    Expected<Buffer> buffer = device_->allocate(bytes);
    if (!buffer)
      return buffer.status();
    void *address = buffer->data();
    buffers_[address] = std::move(*buffer);
    return std::string(tuning::bytesOf(address));
  }

  Status copyIn(void *address, size_t bytes) {
    TEGULA_RETURN_IF_ERROR(device_->copyToDevice(address, copied_.data(), int64_t(bytes)));
    return device_->synchronize(); // Before copied_ changes.
  }

  Result copyOut(const void *address, size_t bytes) {
    std::string copy(bytes, '\0');
    TEGULA_RETURN_IF_ERROR(device_->copyToHost(copy.data(), address, int64_t(bytes)));
    TEGULA_RETURN_IF_ERROR(device_->synchronize());
    return copy;
  }

  /// Begins to load a kernel, as soon as a core is free: without ptxas, the driver assembles it, which takes long.
  /// An error of it is returned when the kernel is used.
  void load(uint64_t kernel, std::string_view bytes) {
    kernels_[kernel] = std::async(std::launch::async, [this, bytes = std::string(bytes)] {
      loaders_.acquire();
      Loaded loaded = guarded([&]() -> Loaded {
        const Expected<Artifact> artifact = parseArtifact(bytes);
        return artifact ? device_->load(*artifact) : artifact.status();
      });
      loaders_.release();
      return loaded;
    });
    loading_.push_back(kernels_[kernel]);
  }

  static Status launch(const Loaded &kernel, std::string_view operand) {
    if (!kernel)
      return kernel.status();
    std::vector<Argument> arguments;
    for (std::string_view rest = operand.substr(sizeof(Grid)); !rest.empty(); rest.remove_prefix(sizeof(Argument)))
      arguments.push_back(valueOf<Argument>(rest));
    return (*kernel)->launch(valueOf<Grid>(operand), arguments);
  }

  Status makeTimers(size_t count) {
    for (const std::shared_future<Loaded> &kernel : std::exchange(loading_, {}))
      kernel.wait(); // No launch waits while its timer runs.
    running_ = 0;
    while (timers_.size() < count) {
      Expected<std::unique_ptr<Timer>> timer = device_->makeTimer();
      if (!timer)
        return timer.status();
      timers_.push_back(std::move(*timer));
    }
    return {};
  }

  static Status noTimer() { return {ErrorCode::internal, "there is no timer left"}; }

  Result read() {
    std::string times;
    const size_t count = std::exchange(running_, 0);
    for (size_t n = 0; n < count; ++n) {
      const Expected<double> ms = timers_[n]->milliseconds();
      if (!ms)
        return ms.status();
      times += tuning::bytesOf(*ms);
    }
    return times;
  }

  const OpenDevice &open_;
  std::shared_ptr<Device> device_;
  std::map<void *, Buffer> buffers_;
  std::string copied_; ///< The operand of the last copy_in.
  std::counting_semaphore<> loaders_{usableCores()};
  std::vector<std::unique_ptr<Timer>> timers_;
  size_t running_ = 0; ///< The timer that runs, or is next.
  std::map<uint64_t, std::shared_future<Loaded>> kernels_;
  std::vector<std::shared_future<Loaded>> loading_; ///< Kernels that may not be loaded yet.
};

} // namespace

int serveDevice(const OpenDevice &open) {
  prctl(PR_SET_PDEATHSIG, SIGKILL); // A kernel that hangs would outlive the process that waits for it.
  Server server(open);
  for (std::string frame; receiveFrame(kWorkerSocket, frame) == FrameEnd::complete;)
    if (sendFrame(kWorkerSocket, server.answer(frame)) != FrameEnd::complete)
      return 1;
  return 0;
}

} // namespace tegula::tuning
