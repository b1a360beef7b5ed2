// SPDX-License-Identifier: MIT
#include "tegula/worker_compiler.h"

#include "tegula/cache_directory.h"
#include "tegula/guard.h"
#include "tegula/internal/fork.h"
#include "tegula/internal/worker_process.h"
#include "tegula/serialize.h"
#include "tegula/toolchain.h"
#include "worker/reproducer.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace tegula {
namespace {

/// The longest time between two questions whether to stop.
constexpr std::chrono::milliseconds kTimeToStop{50};

Status cancelled() { return {ErrorCode::cancelled, "the compilation was stopped"}; }

/// The idle workers, and the number of workers that may still be taken.
class WorkerPool {
public:
  /// The exclusive use of a worker for one compilation. Its place becomes free with the lease. The worker is kept only
  /// if giveBack was called.
  class Lease {
  public:
    Lease(WorkerPool &pool, WorkerProcess worker) : pool_(&pool), worker_(std::move(worker)) {}
    Lease(Lease &&other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), worker_(std::move(other.worker_)), keep_(other.keep_) {}
    ~Lease() {
      if (pool_ != nullptr)
        pool_->release(keep_ ? &worker_ : nullptr);
    }

    WorkerProcess &worker() { return worker_; }
    void giveBack() { keep_ = true; }

  private:
    WorkerPool *pool_;
    WorkerProcess worker_;
    bool keep_ = false;
  };

  explicit WorkerPool(const WorkerOptions &options) : options_(options), places_(std::max(1, options.workers)) {
    idle_.reserve(static_cast<size_t>(places_));
  }

  /// Waits for a place. Then takes an idle worker that listens, or starts one. Returns cancelled if the host asks to
  /// stop.
  Expected<Lease> take() {
    if (!takePlace())
      return cancelled();
    if (std::optional<WorkerProcess> worker = takeIdle())
      return Lease(*this, std::move(*worker));
    Expected<WorkerProcess> worker = guarded([&] { return start(); });
    if (worker)
      return Lease(*this, std::move(*worker));
    release(nullptr);
    return worker.status();
  }

private:
  /// Waits for a place and takes it. Returns false if the host asks to stop.
  bool takePlace() {
    std::unique_lock lock(mutex_);
    const auto isFree = [&] { return places_ > 0; };
    if (!options_.stopped)
      free_.wait(lock, isFree);
    while (!free_.wait_for(lock, kTimeToStop, isFree))
      if (options_.stopped())
        return false;
    --places_;
    return true;
  }

  /// Returns an idle worker that listens, if there is one.
  std::optional<WorkerProcess> takeIdle() {
    const std::lock_guard lock(mutex_);
    while (!idle_.empty()) {
      WorkerProcess worker = std::move(idle_.back());
      idle_.pop_back();
      if (worker.isListening())
        return worker;
    }
    return {};
  }

  void release(WorkerProcess *worker) noexcept {
    const std::lock_guard lock(mutex_);
    if (worker != nullptr)
      idle_.push_back(std::move(*worker)); // There are never more workers than places.
    ++places_;
    free_.notify_one();
  }

  Expected<WorkerProcess> start() const {
    Expected<std::string> program = options_.program.empty() ? findWorker() : options_.program;
    if (!program)
      return program.status();
    return WorkerProcess::start(*program, options_.memory_bytes);
  }

  const WorkerOptions &options_;
  std::mutex mutex_;
  std::condition_variable free_;
  int places_;
  std::vector<WorkerProcess> idle_;
};

/// Returns true if a worker that gave this answer can be used again. Refusals leave traces: lld, for one, may not run
/// again.
bool isUnharmed(const Expected<Artifact> &result) {
  const ErrorCode code = result.status().code();
  return code != ErrorCode::compile_failed && code != ErrorCode::internal;
}

/// Returns the end of a message: the limit that the error is about.
std::string limitOf(ErrorCode code, const WorkerOptions &options) {
  if (code == ErrorCode::compile_timeout)
    return "; the limit is " + std::to_string(options.time_limit.count()) +
           " ms; raise WorkerOptions::time_limit (in C: compile_time_limit_ms)";
  if (code == ErrorCode::resource_exhausted)
    return "; the limit is " + std::to_string(options.memory_bytes >> 20) +
           " MiB; raise WorkerOptions::memory_bytes (in C: compile_memory_bytes)";
  return "";
}

class WorkerCompiler final : public Compiler {
public:
  explicit WorkerCompiler(const WorkerOptions &options) : options_(options), pool_(options_) {}

  Expected<Artifact> compile(const CompileRequest &request) override {
    return guarded([&]() -> Expected<Artifact> {
      TEGULA_RETURN_IF_ERROR(checkFork());
      TEGULA_RETURN_IF_ERROR(checkSize(request));
      return ask(serialize(request));
    });
  }

  std::string identity(const Target &target) const override {
    const Expected<std::string> program = options_.program.empty() ? findWorker() : options_.program;
    return program ? compilerIdentity(buildId(*program), target) : "";
  }

private:
  Status checkFork() const {
    if (!fork_.inChild())
      return {};
    return {ErrorCode::forked_child,
            "the process was forked after this compiler was made; make a new one in the child"};
  }

  Status checkSize(const CompileRequest &request) const {
    if (static_cast<int64_t>(request.program.size()) <= options_.program_bytes)
      return {};
    return {ErrorCode::resource_exhausted, "the program has " + std::to_string(request.program.size()) +
                                               " bytes; the limit is " + std::to_string(options_.program_bytes)};
  }

  Expected<Artifact> ask(const std::string &request) {
    Expected<WorkerPool::Lease> lease = pool_.take();
    if (!lease)
      return lease.status();
    const Expected<std::string> answer =
        lease->worker().ask(request, deadlineIn(options_.time_limit), options_.stopped);
    if (answer.status().code() == ErrorCode::cancelled)
      return cancelled();
    if (!answer)
      return withReproducer(answer.status(), request);
    Expected<Artifact> result = parseResult(*answer);
    if (isUnharmed(result))
      lease->giveBack();
    return result;
  }

  Status withReproducer(const Status &status, const std::string &request) const {
    std::string folder = options_.reproducers;
    if (const std::string user = userCacheDirectory(); folder.empty() && !user.empty())
      folder = user + "/reproducers";
    const std::string path = writeReproducer(folder, request);
    return {status.code(),
            status.message() + limitOf(status.code(), options_) +
                (path.empty() ? "\nno reproducer could be written" : "\nto repeat it: tegula-opt --replay " + path)};
  }

  const WorkerOptions options_;
  ForkGuard fork_;
  WorkerPool pool_;
};

} // namespace

std::unique_ptr<Compiler> makeWorkerCompiler(const WorkerOptions &options) {
  return std::make_unique<WorkerCompiler>(options);
}

} // namespace tegula
