// SPDX-License-Identifier: MIT
#include "hooks.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

namespace tegula {
namespace {

class ObservedCompiler final : public Compiler {
public:
  ObservedCompiler(Compiler &compiler, const tegula_hooks &hooks) : compiler_(compiler), hooks_(hooks) {}

  Expected<Artifact> compile(const CompileRequest &request) override {
    const std::string schedule = toString(request.schedule);
    tegula_compilation event{};
    event.struct_size = sizeof event;
    event.target = request.target.name.c_str();
    event.schedule = schedule.c_str();
    event.message = event.kernel = "";
    hooks_.compilation(hooks_.user, &event);
    const auto begin = std::chrono::steady_clock::now();
    Expected<Artifact> artifact = compiler_.compile(request);
    const Status status = artifact.status();
    event.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    event.finished = 1;
    event.status = static_cast<tegula_status>(status.code());
    event.message = status.message().c_str();
    if (artifact) {
      event.kernel = artifact->kernel.c_str();
      event.schedule = artifact->schedule.c_str();
    }
    hooks_.compilation(hooks_.user, &event);
    return artifact;
  }

  std::string identity(const Target &target) const override { return compiler_.identity(target); }

private:
  Compiler &compiler_;
  const tegula_hooks hooks_;
};

class HostStore final : public ArtifactStore {
public:
  explicit HostStore(const tegula_hooks &hooks) : hooks_(hooks) {}

  std::optional<std::string> load(const std::string &key) noexcept override {
    std::optional<std::string> result;
    if (hooks_.load != nullptr)
      hooks_.load(hooks_.user, key.c_str(), receive, &result);
    return result;
  }

  void save(const std::string &key, std::string_view bytes) noexcept override {
    if (hooks_.save != nullptr)
      hooks_.save(hooks_.user, key.c_str(), bytes.data(), bytes.size());
  }

private:
  /// Receives bytes from the host. No exception may leave it, because the host's C code calls it.
  static void receive(void *to, const void *bytes, size_t size) noexcept {
    auto &result = *static_cast<std::optional<std::string> *>(to);
    try {
      result.emplace(static_cast<const char *>(bytes), size);
    } catch (...) {
      result.reset();
    }
  }

  const tegula_hooks hooks_;
};

/// A count of tasks that are not done yet.
struct Countdown {
  std::mutex mutex;
  std::condition_variable done;
  size_t left;

  void finishOne() {
    const std::lock_guard lock(mutex);
    if (--left == 0)
      done.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex);
    done.wait(lock, [&] { return left == 0; });
  }
};

struct Task {
  const std::function<void()> *function;
  Countdown *countdown;

  static void run(void *data) noexcept {
    const Task &task = *static_cast<Task *>(data);
    (*task.function)();
    task.countdown->finishOne();
  }
};

} // namespace

std::unique_ptr<Compiler> makeObservedCompiler(Compiler &compiler, const tegula_hooks &hooks) {
  return std::make_unique<ObservedCompiler>(compiler, hooks);
}

std::shared_ptr<ArtifactStore> makeHostStore(const tegula_hooks &hooks) {
  const bool keeps = hooks.load != nullptr || hooks.save != nullptr;
  return keeps ? std::make_shared<HostStore>(hooks) : nullptr;
}

void runOnHost(const tegula_hooks &hooks, const std::vector<std::function<void()>> &tasks) {
  Countdown countdown{.mutex = {}, .done = {}, .left = tasks.size()};
  std::vector<Task> all;
  for (const std::function<void()> &function : tasks)
    all.push_back({&function, &countdown});
  for (Task &task : all)
    hooks.submit(hooks.user, Task::run, &task);
  countdown.wait();
}

} // namespace tegula
