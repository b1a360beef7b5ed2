// SPDX-License-Identifier: MIT
#include "remote_device.h"

#include "tegula/guard.h"
#include "tegula/serialize.h"

#include <algorithm>

#include <fmt/format.h>

namespace tegula::tuning {
namespace {

/// The most bytes of a copy in one command, and about the most in the queue.
constexpr int64_t kMostBytes = int64_t(4) << 20;

uint64_t wordOf(const void *address) { return reinterpret_cast<uint64_t>(address); }

/// Returns the value that a command gives.
template <class T> Expected<T> valueOf(const Expected<std::string> &answer) {
  return answer ? Expected<T>(tuning::valueOf<T>(*answer)) : answer.status();
}

class RemoteKernel final : public Kernel {
public:
  RemoteKernel(Artifact artifact, std::shared_ptr<RemoteProcess> process)
      : Kernel(artifact.kernel, artifact.parameters, 1), artifact_(std::move(artifact)), process_(std::move(process)),
        id_(process_->newKernel()) {
    process_->loadAhead(id_, artifact_);
  }

  const Artifact &artifact() const { return artifact_; }

  int64_t concurrency() const noexcept override {
    if (concurrency_ == 0)
      (void)guarded([&] { // An error shows again when the kernel is launched.
        process_->load(id_, artifact_);
        const Expected<int64_t> answer = valueOf<int64_t>(process_->ask(encoded(Verb::concurrency, id_)));
        concurrency_ = answer ? *answer : 0;
        return answer.status();
      });
    return std::max<int64_t>(concurrency_, 1);
  }

protected:
  Status run(Grid grid, std::span<const Argument> arguments, Stream) const override {
    process_->load(id_, artifact_);
    std::string operand(bytesOf(grid));
    operand.append(reinterpret_cast<const char *>(arguments.data()), arguments.size_bytes());
    process_->post(encoded(Verb::launch, id_, operand));
    return {};
  }

  /// The launch in the other process clears counters.
  Status clear(void *, size_t, Stream) const override { return {}; }

private:
  const Artifact artifact_;
  const std::shared_ptr<RemoteProcess> process_;
  const uint64_t id_;
  mutable int64_t concurrency_ = 0; ///< 0 before it is asked for.
};

class RemoteDevice final : public Device {
public:
  RemoteDevice(std::shared_ptr<RemoteProcess> process, const Target &target)
      : process_(std::move(process)), target_(target) {}

  std::string_view name() const noexcept override { return target_.name; }
  const Target &target() const noexcept override { return target_; }

  Expected<Buffer> allocate(int64_t bytes) noexcept override {
    return guarded([&]() -> Expected<Buffer> {
      Expected<void *> address = askForMemory(bytes);
      if (address.status().code() == ErrorCode::resource_exhausted) { // Memory may be released in the queue.
        TEGULA_RETURN_IF_ERROR(process_->exchange().status());
        address = askForMemory(bytes);
      }
      if (!address || bytes == 0)
        return address ? Expected<Buffer>(Buffer()) : address.status();
      const auto release = [process = process_](void *memory) {
        process->post(encoded(Verb::release, wordOf(memory)));
      };
      return Buffer(std::shared_ptr<void>(*address, release), bytes);
    });
  }

  Status copyToDevice(void *device, const void *host, int64_t bytes, Stream) noexcept override {
    return guarded([&] {
      return inParts(device, host, bytes, [&](char *to, const char *from, size_t part) -> Status {
        const auto waiting = int64_t(process_->copyIn(to, {from, part}));
        return waiting < kMostBytes ? Status() : process_->exchange().status();
      });
    });
  }

  Status copyToHost(void *host, const void *device, int64_t bytes, Stream) noexcept override {
    return guarded([&] {
      return inParts(host, device, bytes, [&](char *to, const char *from, size_t part) -> Status {
        const Expected<std::string> copy =
            process_->exchange(encoded(Verb::copy_out, wordOf(from), bytesOf(uint64_t(part))));
        if (copy)
          copy->copy(to, part);
        return copy.status();
      });
    });
  }

  Expected<std::shared_ptr<Kernel>> load(const Artifact &artifact) noexcept override {
    return guarded([&]() -> Expected<std::shared_ptr<Kernel>> {
      return std::shared_ptr<Kernel>(std::make_shared<RemoteKernel>(artifact, process_));
    });
  }

  Status synchronize(Stream) noexcept override {
    return guarded([&] { return process_->exchange(encoded(Verb::synchronize)).status(); });
  }

  Expected<MemoryInfo> memory() const noexcept override {
    return guarded([&] { return valueOf<MemoryInfo>(process_->exchange(encoded(Verb::memory))); });
  }

  Expected<std::unique_ptr<Timer>> makeTimer() noexcept override {
    return guarded([]() -> Expected<std::unique_ptr<Timer>> {
      return Status(ErrorCode::unsupported, "a device in another process has no timers");
    });
  }

private:
  Expected<void *> askForMemory(int64_t bytes) {
    return valueOf<void *>(process_->ask(encoded(Verb::allocate, 0, bytesOf(bytes))));
  }

  /// Calls copy(to, from, bytes) for parts of a copy.
  template <class Copy> static Status inParts(void *to, const void *from, int64_t bytes, Copy copy) {
    for (int64_t done = 0; done < bytes; done += kMostBytes)
      TEGULA_RETURN_IF_ERROR(copy(static_cast<char *>(to) + done, static_cast<const char *>(from) + done,
                                  size_t(std::min(kMostBytes, bytes - done))));
    return {};
  }

  const std::shared_ptr<RemoteProcess> process_;
  const Target target_;
};

} // namespace

std::shared_ptr<Device> makeRemoteDevice(std::shared_ptr<RemoteProcess> process, const Target &target) {
  return std::make_shared<RemoteDevice>(std::move(process), target);
}

const Artifact &artifactOf(const Kernel &kernel) { return dynamic_cast<const RemoteKernel &>(kernel).artifact(); }

Status RemoteProcess::restart() {
  Expected<WorkerProcess> process = WorkerProcess::start(program_, /*memoryBytes=*/0, "the process that measures");
  if (!process)
    return process.status();
  {
    const std::lock_guard lock(mutex_);
    process_.reset();
    process_.emplace(std::move(*process));
    queue_.clear();
    loads_.clear();
    loaded_.clear();
    needed_.clear();
  }
  copied_.clear();
  const Status status = send(encoded(Verb::open, 0, target_)).status(); // Before what other threads want to load.
  return status.ok() ? status : lose(status);                           // A process without a device is of no use.
}

void RemoteProcess::end() { (void)lose({ErrorCode::internal, "the process that measures was ended"}); }

bool RemoteProcess::isRunning() const {
  const std::lock_guard lock(mutex_);
  return process_.has_value();
}

void RemoteProcess::allow(std::chrono::milliseconds patience) {
  patience_ = patience;
  deadline_ = deadlineIn(patience);
}

size_t RemoteProcess::post(const std::string &commands) {
  const std::lock_guard lock(mutex_);
  if (process_)
    queue_ += commands;
  return queue_.size();
}

size_t RemoteProcess::copyIn(void *address, std::string_view bytes) {
  if (copied_.starts_with(bytes)) // Large tensors repeat their numbers.
    return post(encoded(Verb::copy_again, wordOf(address), bytesOf(bytes.size())));
  copied_ = bytes;
  return post(encoded(Verb::copy_in, wordOf(address), bytes));
}

Expected<std::string> RemoteProcess::exchange(const std::string &commands) {
  std::unique_lock lock(mutex_);
  const std::string frame = std::exchange(loads_, {}) + std::exchange(queue_, {}) + commands;
  lock.unlock();
  return send(frame);
}

Expected<std::string> RemoteProcess::ask(const std::string &commands) {
  std::unique_lock lock(mutex_);
  const std::string frame = std::exchange(loads_, {}) + commands;
  lock.unlock();
  return send(frame);
}

Expected<std::string> RemoteProcess::send(const std::string &frame) {
  if (!isRunning())
    return lost_;
  Expected<std::string> answer = process_->ask(frame, deadline_, stopped_);
  if (answer.status().code() == ErrorCode::compile_timeout)
    return lose(
        {ErrorCode::compile_timeout, fmt::format("took longer than {:.3g} s", 1e-3 * double(patience_.count()))});
  if (!answer)
    return lose(answer.status());
  const auto code = ErrorCode(answer->at(0));
  answer->erase(0, 1);
  if (code == ErrorCode::ok)
    return answer;
  const Status error(code, *answer);
  return code == ErrorCode::device_lost ? lose(error) : error; // Only a new process can use the GPU again.
}

Status RemoteProcess::lose(const Status &error) {
  const std::lock_guard lock(mutex_);
  process_.reset();
  return lost_ = error;
}

void RemoteProcess::load(uint64_t kernel, const Artifact &artifact) {
  const std::lock_guard lock(mutex_);
  begin(kernel, artifact);
  needed_.insert(kernel);
}

void RemoteProcess::loadAhead(uint64_t kernel, const Artifact &artifact) {
  const std::lock_guard lock(mutex_);
  if (loads_ahead_)
    begin(kernel, artifact);
}

void RemoteProcess::begin(uint64_t kernel, const Artifact &artifact) {
  if (process_ && loaded_.insert(kernel).second)
    loads_ += encoded(Verb::load, kernel, serialize(artifact));
}

void RemoteProcess::stopLoadingAhead() {
  const std::lock_guard lock(mutex_);
  loads_ahead_ = false;
}

bool RemoteProcess::hasLoadedAhead() const {
  const std::lock_guard lock(mutex_);
  return !std::ranges::includes(needed_, loaded_);
}

} // namespace tegula::tuning
