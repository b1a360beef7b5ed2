// SPDX-License-Identifier: MIT
#include "cpu_pool.h"

#include <algorithm>
#include <csignal>
#include <pthread.h>
#include <string>
#include <system_error>

namespace tegula {
namespace {

/// Returns the number of instances in a chunk. Small chunks keep threads from waiting long for the last one, because
/// the instances of causal attention differ in length. A chunk of tiny instances must still be worth an atomic
/// addition.
int64_t chunkOf(int64_t instances, int64_t threads) { return std::clamp<int64_t>(instances / (threads * 32), 1, 64); }

/// A scope in which threads that the caller starts get none of the process's signals.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }
  SignalsBlocked(const SignalsBlocked &) = delete;
  SignalsBlocked &operator=(const SignalsBlocked &) = delete;

private:
  sigset_t previous_;
};

} // namespace

struct CpuPool::Launch {
  const CpuWork &work;
  const int64_t chunk;
  int helpers = 0; ///< Workers in this launch; guarded by the pool's mutex.
  alignas(64) std::atomic<int64_t> next{0};

  void runChunks(void *scratch) noexcept {
    for (;;) {
      const int64_t first = next.fetch_add(chunk, std::memory_order_relaxed);
      if (first >= work.instances)
        return;
      const int64_t last = std::min(first + chunk, work.instances);
      work.kernel(work.tensors, work.words, work.grid, scratch, first, last);
    }
  }
};

std::shared_ptr<CpuPool> CpuPool::make(int threads, CoreSet cores) {
  return {new CpuPool(threads, std::move(cores)), [](CpuPool *pool) {
            if (!pool->fork_.inChild())
              delete pool;
          }};
}

CpuPool::~CpuPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread &worker : workers_)
    worker.join();
}

Status CpuPool::run(const CpuWork &work) {
  TEGULA_RETURN_IF_ERROR(checkFork());
  void *scratch = threadScratch(work.scratch_bytes);
  if (scratch == nullptr)
    return {ErrorCode::resource_exhausted, "no memory for " + std::to_string(work.scratch_bytes) + " bytes of scratch"};
  Launch launch{.work = work, .chunk = chunkOf(work.instances, threads_)};
  const bool wantsHelp = threads_ > 1 && work.instances > launch.chunk;
  if (wantsHelp)
    enqueue(launch);
  {
    const DefaultFloats floats;
    launch.runChunks(scratch);
  }
  if (wantsHelp)
    finish(launch);
  return {};
}

void CpuPool::enqueue(Launch &launch) {
  {
    const std::lock_guard lock(mutex_);
    if (!started_)
      startThreads();
    open_.push_back(&launch);
  }
  const int64_t chunks = (launch.work.instances - 1) / launch.chunk + 1;
  if (chunks >= threads_)
    wake_.notify_all();
  else
    for (int64_t i = 1; i < chunks; ++i)
      wake_.notify_one();
}

void CpuPool::finish(Launch &launch) {
  std::unique_lock lock(mutex_);
  open_.remove(&launch);
  done_.wait(lock, [&] { return launch.helpers == 0; });
}

/// Starts the threads. The caller holds the mutex. If the system grants fewer threads, or none, launches are slower but
/// do not fail.
void CpuPool::startThreads() {
  workers_.reserve(threads_ - 1);
  started_ = true;
  const SignalsBlocked blocked;
  try {
    for (int i = 1; i < threads_; ++i)
      workers_.emplace_back([this, i] { workUntilStopped(i); });
  } catch (const std::system_error &) {
  }
}

void CpuPool::workUntilStopped(int index) {
  pthread_setname_np(pthread_self(), ("tegula-cpu-" + std::to_string(index)).c_str());
  cores_.applyToThisThread();
  const DefaultFloats floats;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stop_ || !open_.empty(); });
    if (stop_)
      return;
    Launch &launch = *open_.front();
    open_.splice(open_.end(), open_, open_.begin()); // The next worker helps the next launch.
    ++launch.helpers;
    lock.unlock();
    if (void *scratch = threadScratch(launch.work.scratch_bytes))
      launch.runChunks(scratch);
    lock.lock();
    leave(launch);
  }
}

/// Ends the work of a thread on a launch. The caller holds the mutex. The thread found no chunk, or no memory. In both
/// cases no other thread need try to help.
void CpuPool::leave(Launch &launch) {
  open_.remove(&launch);
  if (--launch.helpers == 0)
    done_.notify_all();
}

} // namespace tegula
