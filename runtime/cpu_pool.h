// SPDX-License-Identifier: MIT
// The threads of a cpu device.
#pragma once

#include "cpu_threads.h"
#include "tegula/artifact.h"
#include "tegula/internal/fork.h"
#include "tegula/status.h"

#include <atomic>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tegula {

/// The work of one launch. CpuKernel describes the fields. The pointers stay valid until CpuPool::run returns.
struct CpuWork {
  CpuKernel kernel;
  void *const *tensors;
  const int64_t *words;
  const int64_t *grid;
  int64_t scratch_bytes;
  int64_t instances; ///< Product of `grid`, at most kMaxInstances.
};

/// Threads that run launches, several at a time if several threads call `run`. The caller of `run` works too, so that a
/// launch finishes even if no other thread could be started.
class CpuPool {
public:
  /// Makes a pool. `threads` counts the caller of `run` and is at least 1.
  CpuPool(int threads, CoreSet cores) : threads_(threads), cores_(std::move(cores)) {}
  ~CpuPool();

  /// Makes a pool that a forked child leaks instead of destroying, because its threads do not exist there.
  static std::shared_ptr<CpuPool> make(int threads, CoreSet cores);

  /// Runs each instance once and returns when all are done. Throws std::bad_alloc before anything has run.
  Status run(const CpuWork &work);

  Status checkFork() const { return fork_.check(); }

  int threads() const { return threads_; }

private:
  struct Launch;

  void startThreads();
  void workUntilStopped(int index);
  void enqueue(Launch &launch);
  void finish(Launch &launch);
  void leave(Launch &launch);

  const int threads_;
  const CoreSet cores_;
  ForkGuard fork_;

  std::mutex mutex_; ///< Guards the members below, and the fields of a Launch that say so.
  std::condition_variable wake_;
  std::condition_variable done_;
  std::list<Launch *> open_; ///< Launches that may have chunks left and want help.
  std::vector<std::thread> workers_;
  bool started_ = false;
  bool stop_ = false;
};

} // namespace tegula
